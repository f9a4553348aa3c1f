// Which Prisma client belongs to which Database. Kept apart so that only this package can reach the client behind one:
// a bare client bypasses the scopes.
import type { PrismaClient } from './generated/client.ts';

export const clients = new WeakMap<object, PrismaClient>();
