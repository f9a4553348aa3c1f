// Owns the ladder every procedure stands on: public → signed in → member with a permission.
// The bare tRPC builder is not exported, so a procedure without a declared access level cannot be written.
import type { Session } from '@fairlead/auth';
import { type Actor, AppError, type Ctx } from '@fairlead/core/kernel';
import { type ActiveMember, findActiveMember } from '@fairlead/core/member';
import { can, type Permission } from '@fairlead/core/role';
import { initTRPC } from '@trpc/server';
import superjson from 'superjson';
import type { ApiContext } from './context.ts';
import { publicErrorOf, toTrpcError } from './errors.ts';
import { inSystemScope } from './system-scope.ts';

export type Access = 'public' | 'signed_in' | Permission;

interface Meta {
  readonly access: Access;
}

const t = initTRPC
  .context<ApiContext>()
  .meta<Meta>()
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

/** For streams: the member is known, but no transaction is held while the stream lasts. */
export function memberStream(permission: Permission) {
  return mapped.meta({ access: permission }).use(async ({ ctx, next }) => {
    return next({ ctx: await requireActor(ctx, permission) });
  });
}

/**
 * Runs the resolver in one transaction that can see this organization only; `ctx.core` is what verbs take, and
 * `ctx.afterCommit` holds work on what no transaction covers.
 */
export function memberProcedure(permission: Permission) {
  return memberStream(permission).use(async ({ ctx, path, next }) => {
    const { member, actor } = ctx;
    const afterCommit: (() => Promise<void>)[] = [];
    try {
      const committed = await ctx.database.tenant(member.organizationId, async (tx) => {
        const core: Ctx = {
          tx,
          organizationId: member.organizationId,
          actor,
          clock: ctx.clock,
          log: ctx.log,
          ip: ctx.ip,
        };
        const result = await next({
          ctx: { core, afterCommit: (work: () => Promise<void>) => void afterCommit.push(work) },
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

export async function requireSession(ctx: ApiContext): Promise<Session> {
  const session = await ctx.session();
  if (session === null) throw new AppError('session.required');
  return session;
}

/** Who acts, and where. A session is there unless a token acts. */
export interface Acting {
  readonly signedIn: Session | null;
  readonly member: ActiveMember;
  readonly actor: Actor;
}

export async function requireActor(ctx: ApiContext, permission: Permission): Promise<Acting> {
  const signedIn = await requireSession(ctx);
  const member = await requireMember(ctx, signedIn, permission);
  return { signedIn, member, actor: { kind: 'member', userId: member.userId, role: member.role } };
}

async function requireMember(ctx: ApiContext, session: Session, permission: Permission): Promise<ActiveMember> {
  const slug = ctx.organizationSlug;
  if (slug === null) throw new AppError('organization.not_found');
  ctx.memo.member ??= readMember(ctx, session.user.id, slug);
  const member = await ctx.memo.member;
  // The same answer for "no such" and "not yours": whoever asks must not learn which organizations exist.
  if (member === null) throw new AppError('organization.not_found');
  if (!can(member.role, permission)) throw new AppError('permission.denied', { permission });
  return member;
}

export function readMember(ctx: ApiContext, userId: string, organizationSlug: string): Promise<ActiveMember | null> {
  return inSystemScope(ctx, 'resolve the membership of a request', (core) =>
    findActiveMember(core, { userId, organizationSlug }),
  );
}

class FailedResult extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('a procedure failed; its transaction rolls back');
    this.result = result;
  }
}
