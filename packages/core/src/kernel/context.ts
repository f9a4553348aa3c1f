// Context of every operation: a transaction in its scope, the actor, the clock and the log.
// Invariant: it never opens a transaction. Callers do, so that one request or job is one transaction.
import type { OrganizationId } from '@fairlead/contract/ids';
import type { ScopedTx, SystemTx, TenantTx } from '@fairlead/db';

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Part of pino's interface that core uses. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type Actor =
  /** `role` is the member's role in the organization, for the record only; `Rights` hold the permissions. */
  | { readonly kind: 'member'; readonly userId: string; readonly role: string }
  /** An API token: a person's, with their rights at most, or a service account's. */
  | { readonly kind: 'token'; readonly tokenId: string; readonly userId: string | null }
  | { readonly kind: 'agent'; readonly serverId: string }
  | { readonly kind: 'system'; readonly reason: string };

/** Work for one organization in either scope. Queries name the organization; in tenant scope row security is the second wall. */
export interface OrganizationCtx {
  readonly tx: ScopedTx;
  readonly organizationId: OrganizationId;
  readonly clock: Clock;
  readonly log: Log;
}

/** Context of one organization and one actor. Row-level security hides every other organization. */
export interface Ctx extends OrganizationCtx {
  readonly tx: TenantTx;
  readonly actor: Actor;
  /** Client address of the request; absent for work without a request. */
  readonly ip?: string | null;
}

/** Above organizations: the gateway, the scheduler and the first start. */
export interface SystemCtx {
  readonly tx: SystemTx;
  readonly clock: Clock;
  readonly log: Log;
}

/** Returns the person who acts, also by a personal token; null for the system, agents and service accounts. */
export function actorUserId(actor: Actor): string | null {
  return actor.kind === 'member' || actor.kind === 'token' ? actor.userId : null;
}

/** Narrows system scope to one organization before its rows are touched. */
export function forOrganization(ctx: SystemCtx, organizationId: OrganizationId): OrganizationCtx {
  return { tx: ctx.tx, organizationId, clock: ctx.clock, log: ctx.log };
}
