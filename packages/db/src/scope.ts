// Types of the two scopes that may touch rows. A transaction carries its scope, so that a function for one cannot get
// the other.
import type { Prisma } from './generated/client.ts';

declare const scope: unique symbol;

/** A transaction of either scope: Prisma's models plus `$queryRaw` and `$executeRaw`. */
export type ScopedTx = Prisma.TransactionClient & { readonly [scope]: 'tenant' | 'system' };
/** Sees and writes the rows of one organization only. */
export type TenantTx = Prisma.TransactionClient & { readonly [scope]: 'tenant' };
/** Sees and writes the rows of every organization. */
export type SystemTx = Prisma.TransactionClient & { readonly [scope]: 'system' };

export const tenantRole = 'fairlead_tenant';
export const systemRole = 'fairlead_system';
