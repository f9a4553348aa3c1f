// Owns the ladder every procedure stands on: public → signed in → member with a permission.
// The bare tRPC builder is not exported, so a procedure without a declared access level cannot be written.
import { requireFresh } from '@fairlead/auth';
import { AppError, type Ctx } from '@fairlead/core/kernel';
import type { Permission, Scope } from '@fairlead/core/role';
import { initTRPC } from '@trpc/server';
import superjson from 'superjson';
import { type Access, requireAccess, requireSession } from './access.ts';
import type { ApiContext } from './context.ts';
import { publicErrorOf, toTrpcError } from './errors.ts';
import type { ScopeOf } from './scopes.ts';

/** What every procedure declares; docs/permissions.md is rendered from it. */
export interface ProcedureMeta {
  readonly access: 'public' | 'signed_in' | Permission;
  /** Of procedures for members: how narrow a grant of the permission is enough. `anywhere`: it speaks of nothing of ours. */
  readonly grain?: 'organization' | ScopeOf['grain'] | 'anywhere';
  /** It answers what the grants cover, down to `grain`, and nothing beside it. */
  readonly lists?: true;
  /** Asks a person for a session that proved lately who they are. */
  readonly fresh?: true;
}

const t = initTRPC
  .context<ApiContext>()
  .meta<ProcedureMeta>()
  .create({
    transformer: superjson,
    isDev: false,
    sse: { ping: { enabled: true, intervalMs: 5000 }, client: { reconnectAfterInactivityMs: 15_000 } },
    errorFormatter: ({ shape, error }) => {
      const published = publicErrorOf(error);
      const message = error.code === 'INTERNAL_SERVER_ERROR' ? 'Something went wrong on our side.' : shape.message;
      return {
        ...shape,
        message: error.cause === undefined ? message : shape.message,
        data: { ...shape.data, ...published },
      };
    },
  });

export const router = t.router;
export const createCallerFactory = t.createCallerFactory;

const mapped = t.procedure.use(async ({ ctx, path, next }) => {
  const result = await next();
  if (!result.ok) throw toTrpcError(result.error, ctx.log, path);
  return result;
});

export const publicProcedure = mapped.meta({ access: 'public' });

export const signedInProcedure = mapped.meta({ access: 'signed_in' }).use(async ({ ctx, next }) => {
  return next({ ctx: { signedIn: await requireSession(ctx) } });
});

/**
 * For streams: who acts is known, but no transaction is held while the stream lasts. The permission is held somewhere at
 * least; the resolver asks `ctx.access` for each thing that it streams.
 */
export function memberStream(permission: Permission, grain: 'environment' | 'anywhere' = 'environment') {
  return mapped.meta({ access: permission, grain }).use(async ({ ctx, next }) => {
    return next({ ctx: { access: await requireAnywhere(ctx, permission) } });
  });
}

export interface MemberOptions {
  /** Where it happens. Without it the permission must be held in the organization as a whole. */
  readonly scope?: ScopeOf;
  /** For lists: it happens wherever the permission is held, and the resolver answers what `access.reach` covers. */
  readonly lists?: 'project' | 'environment';
  /**
   * For what outlives the session that does it: throws session.not_fresh when its person proved long ago who they are. An
   * API token passes: it was made by a fresh session.
   */
  readonly fresh?: true;
}

/**
 * Runs the resolver in one transaction that can see this organization only; `ctx.core` is what verbs take, and
 * `ctx.afterCommit` holds work on what no transaction covers.
 */
export function memberProcedure(permission: Permission, { scope, lists, fresh }: MemberOptions = {}) {
  const grain = lists ?? scope?.grain ?? 'organization';
  const declared = mapped.meta({
    access: permission,
    grain,
    ...(lists === undefined ? {} : { lists: true }),
    ...(fresh === undefined ? {} : { fresh }),
  });
  return declared.use(async ({ ctx, path, getRawInput, next }) => {
    const access = await requireAnywhere(ctx, permission);
    const { organizationId, actor } = access;
    const afterCommit: (() => Promise<void>)[] = [];
    try {
      const committed = await ctx.database.tenant(organizationId, async (tx) => {
        const core: Ctx = { tx, organizationId, actor, clock: ctx.clock, log: ctx.log, ip: ctx.ip };
        const mayThere = (there: Scope) => access.may(permission, there);
        if (lists === undefined && !access.may(permission)) {
          const place = scope === undefined ? null : await scope.find(core, await getRawInput(), mayThere);
          if (place === null || !access.may(permission, place)) throw new AppError('permission.denied', { permission });
        }
        if (fresh === true && ctx.bearer === null) requireFresh(await requireSession(ctx), ctx.clock.now());
        const result = await next({
          ctx: { access, core, afterCommit: (work: () => Promise<void>) => void afterCommit.push(work) },
        });
        // tRPC returns failures as values; the transaction rolls back only for what is thrown.
        if (!result.ok) throw new FailedResult(result);
        return result;
      });
      // The change stands whatever becomes of its aftermath, so a failure there is the log's business only.
      for (const work of afterCommit) {
        await work().catch((error: unknown) => ctx.log.error({ err: error, path }, 'the aftermath of a change failed'));
      }
      return committed;
    } catch (error) {
      if (error instanceof FailedResult) return error.result as never;
      throw error;
    }
  });
}

async function requireAnywhere(ctx: ApiContext, permission: Permission): Promise<Access> {
  const access = await requireAccess(ctx);
  if (!access.mayAnywhere(permission)) throw new AppError('permission.denied', { permission });
  return access;
}

class FailedResult extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('a procedure failed; its transaction rolls back');
    this.result = result;
  }
}
