// Maps each Database to its Prisma client. Only this package may reach it: a bare client bypasses the scopes.
import type { PrismaClient } from './generated/client.ts';

export const clients = new WeakMap<object, PrismaClient>();
