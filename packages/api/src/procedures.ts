// tRPC procedure builders by access level: public → signed in → member with a permission.
// Invariant: the bare tRPC builder is not exported, so every procedure declares its access level.
import { requireFresh } from '@fairlead/auth';
import { AppError, type Ctx } from '@fairlead/core/kernel';
import type { Permission } from '@fairlead/core/role';
import { initTRPC } from '@trpc/server';
import superjson from 'superjson';
import { z } from 'zod';
import { type Access, requireAccess, requireOperator, requireSession } from './access.ts';
import type { ApiContext } from './context.ts';
import { publicErrorOf, toTrpcError } from './errors.ts';
import { type JudgedOptions, judge } from './judge.ts';
import type { Protection } from './protection.ts';
import type { AlsoNeeds, ScopeOf } from './scopes.ts';

/** Declarations of every procedure; docs/permissions.md is rendered from them. */
export interface ProcedureMeta {
  readonly access: 'public' | 'signed_in' | 'operator' | Permission;
  /**
   * For member procedures: the narrowest grant of the permission that suffices. `anywhere`: it touches no data of the
   * organization.
   */
  readonly grain?: 'organization' | ScopeOf<unknown>['grain'] | 'anywhere';
  /** True if it returns the rows that the grants cover, down to `grain`, and no others. */
  readonly lists?: true;
  /** Fields of the input that name the rows for the permission check. */
  readonly judges?: readonly string[];
  readonly alsoNeeds?: Pick<AlsoNeeds<unknown>, 'words' | 'permissions' | 'denials'>;
  /** Protection that a mutation for members declares for protected environments. */
  readonly protection?: Pick<Protection, 'kind' | 'words'>;
  /** Requires a session in which the person confirmed their identity recently. */
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
 * For a member's own view of the organization, such as what they hide. Never for an API token. It runs in one transaction,
 * and must change nothing that others see.
 */
export const ownViewProcedure = signedInProcedure.use(async ({ ctx, path, next }) => {
  const access = await requireAccess(ctx);
  return inTransaction({ ...ctx, access }, path, (held) => next({ ctx: { ...held, access } }));
});

/** For people who operate this control plane, in its first organization; never for an API token. */
export const operatorProcedure = mapped.meta({ access: 'operator' }).use(async ({ ctx, next }) => {
  return next({ ctx: { operator: await requireOperator(ctx) } });
});

/** For operators who confirmed their identity recently. */
export const freshOperatorProcedure = operatorProcedure
  .meta({ access: 'operator', fresh: true })
  .use(async ({ ctx, next }) => {
    await requireFreshSession(ctx);
    return next();
  });

/**
 * For streams: the actor is known, but no transaction is held while the stream lasts. The permission is held in at
 * least one scope; the resolver checks `ctx.access` for each thing that it streams.
 */
export function memberStream(permission: Permission, grain: 'environment' | 'anywhere' = 'environment') {
  return mapped.meta({ access: permission, grain }).use(async ({ ctx, next }) => {
    return next({ ctx: { access: await requireAnywhere(ctx, permission) } });
  });
}

export interface MemberOptions<Input = unknown> extends JudgedOptions<Input> {
  /** Scope of the call. Without it the permission must be held in the organization as a whole. */
  readonly scope?: ScopeOf<Input>;
  /** Further permissions that the input needs, each in its own scope. */
  readonly also?: AlsoNeeds<Input>;
  /**
   * For lists: the call needs the permission in any scope, and the resolver returns the rows that `access.reach`
   * covers.
   */
  readonly lists?: 'project' | 'environment';
  /** Protection of protected environments from this mutation. A test requires it. */
  readonly protection?: Protection<Input>;
  /**
   * Throws session.not_fresh if the person confirmed their identity too long ago. Use it for changes that outlive the session. An
   * API token passes, because a fresh session made it.
   */
  readonly fresh?: true;
  /** True for the mutation that moves an app to another scope: it waits for all others of the app, and they for it. */
  readonly movesApp?: true;
}

export interface MemberOptionsOf<Schema extends z.ZodType> extends MemberOptions<z.output<Schema>> {
  readonly input: Schema;
}

/**
 * Runs the resolver in one transaction that can see this organization only. `ctx.core` is the context of core's
 * functions, and `ctx.afterCommit` holds work outside the transaction. Permissions are checked on the input as its
 * schema returns it, so the resolver reads exactly the checked input.
 */
export function memberProcedure(
  permission: Permission,
  options?: MemberOptions & { readonly input?: never },
): ReturnType<typeof withoutInput>;
export function memberProcedure<Schema extends z.ZodType>(
  permission: Permission,
  options: MemberOptionsOf<Schema>,
): ReturnType<typeof withInput<Schema>>;
export function memberProcedure(permission: Permission, options: MemberOptions & { readonly input?: z.ZodType } = {}) {
  const { input, ...rest } = options;
  return input === undefined ? withoutInput(permission, rest) : withInput(permission, { ...rest, input });
}

/**
 * Builds a request that a server or GitHub answers: permission checks and `prepare` run in one transaction, and none is
 * held while the resolver waits. It stores the answer by `ctx.record`.
 */
export function memberRequest<Schema extends z.ZodType, Prepared>(
  permission: Permission,
  { input, prepare, ...options }: MemberRequestOptions<Schema, Prepared>,
) {
  return memberEntry(permission, options)
    .input(input)
    .use(async ({ ctx, input: parsed, next }) => {
      const prepared = await ctx.database.tenant(ctx.access.organizationId, async (tx) => {
        const core = coreOf(ctx, tx);
        await judgeCall(core, ctx, permission, options, parsed as z.output<Schema>);
        return prepare(core, parsed as z.output<Schema>, ctx);
      });
      /** Runs work in a transaction of its own, and checks the rights again: the request took time. */
      const record = <T>(work: (core: Ctx) => Promise<T>): Promise<T> =>
        ctx.database.tenant(ctx.access.organizationId, async (tx) => {
          const core = coreOf(ctx, tx);
          await judgeCall(core, ctx, permission, options, parsed as z.output<Schema>);
          return work(core);
        });
      return next({ ctx: { prepared, record } });
    });
}

export interface MemberRequestOptions<Schema extends z.ZodType, Prepared>
  extends Pick<MemberOptionsOf<Schema>, 'input' | 'scope' | 'also' | 'fresh' | 'protection'> {
  readonly prepare: (core: Ctx, input: z.output<Schema>, ctx: ApiContext) => Promise<Prepared>;
}

function coreOf(ctx: ApiContext & { readonly access: Access }, tx: Ctx['tx']): Ctx {
  const { organizationId, actor } = ctx.access;
  return { tx, organizationId, actor, clock: ctx.clock, log: ctx.log, ip: ctx.ip };
}

function withoutInput(permission: Permission, options: MemberOptions) {
  return memberEntry(permission, options).use(({ ctx, path, next }) =>
    inTransaction(ctx, path, async (held) => {
      const verifyRights = () => judgeCall(held.core, ctx, permission, options, undefined);
      await verifyRights();
      return next({ ctx: { ...held, verifyRights } });
    }),
  );
}

function withInput<Schema extends z.ZodType>(permission: Permission, options: MemberOptionsOf<Schema>) {
  return memberEntry(permission, options)
    .input(options.input)
    .use(({ ctx, path, type, input, next }) =>
      inTransaction(ctx, path, async (held) => {
        if (type === 'mutation') await holdApp(held.core, input, options.movesApp ?? false);
        const verifyRights = () => judgeCall(held.core, ctx, permission, options, input as z.output<Schema>);
        await verifyRights();
        return next({ ctx: { ...held, verifyRights } });
      }),
    );
}

/** The permission is held in some scope: enough to read the input, never to act on it. */
function memberEntry<Input>(permission: Permission, { scope, also, lists, fresh, protection }: MemberOptions<Input>) {
  return mapped
    .meta({
      access: permission,
      grain: lists ?? scope?.grain ?? 'organization',
      ...(lists === undefined ? {} : { lists: true }),
      ...(fresh === undefined ? {} : { fresh }),
      ...(scope === undefined ? {} : { judges: [...scope.reads, ...(also?.reads ?? [])] }),
      ...(also === undefined ? {} : { alsoNeeds: alsoMeta(also) }),
      ...(protection === undefined ? {} : { protection: { kind: protection.kind, words: protection.words } }),
    })
    .use(async ({ ctx, next }) => {
      const access = await requireAnywhere(ctx, permission);
      if (fresh === true) await requireFreshSession(ctx);
      return next({ ctx: { access } });
    });
}

function alsoMeta<Input>({ words, permissions, denials }: AlsoNeeds<Input>): NonNullable<ProcedureMeta['alsoNeeds']> {
  return { words, permissions, ...(denials === undefined ? {} : { denials }) };
}

/**
 * Keeps the app that an input names in its scope until the transaction ends. Otherwise a move in between would let a call
 * that was judged in the old project act on the new one.
 */
async function holdApp({ tx }: Ctx, input: unknown, moves: boolean): Promise<void> {
  const { data } = namesApp.safeParse(input);
  const appId = data?.appId ?? data?.owner?.appId;
  if (appId === undefined) return;
  const key = `move ${appId}`;
  // Before any row is locked, so that no two wait for each other in a circle.
  if (moves) await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
  else await tx.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtextextended(${key}, 0))`;
}

const namesApp = z.object({
  appId: z.string().optional(),
  owner: z.object({ appId: z.string().optional() }).optional(),
});

function judgeCall<Input>(
  core: Ctx,
  ctx: ApiContext & { readonly access: Access },
  permission: Permission,
  options: MemberOptions<Input>,
  input: Input,
): Promise<void> {
  return judge(core, { ...ctx.access, requireFresh: () => requireFreshSession(ctx) }, permission, options, input);
}

/** An API token passes, because a fresh session made it. */
async function requireFreshSession(ctx: ApiContext): Promise<void> {
  if (ctx.bearer === null) requireFresh(await requireSession(ctx), ctx.clock.now());
}

interface MemberContext {
  readonly core: Ctx;
  /** Runs when the transaction has committed. */
  readonly afterCommit: (work: () => Promise<void>) => void;
}

async function inTransaction<Result extends { readonly ok: boolean }>(
  ctx: ApiContext & { readonly access: Access },
  path: string,
  run: (held: MemberContext) => Promise<Result>,
): Promise<Result> {
  const afterCommit: (() => Promise<void>)[] = [];
  try {
    const committed = await ctx.database.tenant(ctx.access.organizationId, async (tx) => {
      const core = coreOf(ctx, tx);
      const result = await run({ core, afterCommit: (work) => void afterCommit.push(work) });
      // tRPC returns failures as values; only a thrown error rolls the transaction back.
      if (!result.ok) throw new FailedResult(result);
      return result;
    });
    // The change is committed already, so a failure of this work is only logged.
    for (const work of afterCommit) {
      await work().catch((error: unknown) => ctx.log.error({ err: error, path }, 'work after a commit failed'));
    }
    return committed;
  } catch (error) {
    if (error instanceof FailedResult) return error.result as Result;
    throw error;
  }
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
