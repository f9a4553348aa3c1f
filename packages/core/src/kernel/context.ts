// Owns what every verb is given: a transaction that is already in its scope, who acts, the clock and the log.
// Must never open a transaction: callers do, so that one request or job is one transaction.
import type { OrganizationId } from '@fairlead/contract/ids';
import type { SystemTx, TenantTx } from '@fairlead/db';
import type { Role } from '../role/schema.ts';

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** The part of pino's interface that verbs use. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type Actor =
  | { readonly kind: 'member'; readonly userId: string; readonly role: Role }
  | { readonly kind: 'system'; readonly reason: string };

/** Inside one organization. Row-level security hides every other one. */
export interface Ctx {
  readonly tx: TenantTx;
  readonly organizationId: OrganizationId;
  readonly actor: Actor;
  readonly clock: Clock;
  readonly log: Log;
}

/** Above organizations: the gateway, the scheduler and the first start. */
export interface SystemCtx {
  readonly tx: SystemTx;
  readonly clock: Clock;
  readonly log: Log;
}

/** The member who acts; null for the system. */
export function actorUserId(actor: Actor): string | null {
  return actor.kind === 'member' ? actor.userId : null;
}
