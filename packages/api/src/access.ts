// Resolves the actor of a request and their rights, for all procedures; a request without a member's session or a
// token ends here.
// Invariant: it never looks at rows of the organization; scopes.ts does.
import type { Session } from '@fairlead/auth';
import type { OrganizationId } from '@fairlead/contract/ids';
import { findOperatedOrganization, type OperatorCtx } from '@fairlead/core/control-plane';
import { type Actor, AppError } from '@fairlead/core/kernel';
import { type ActiveMember, findActiveMember } from '@fairlead/core/member';
import { may, mayAnywhere, type Permission, type Reach, type Rights, reachOf, type Scope } from '@fairlead/core/role';
import { type ActiveToken, findActiveToken } from '@fairlead/core/token';
import { type ApiContext, inSystemScope } from './context.ts';

export interface Access {
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  readonly actor: Actor;
  readonly rights: Rights;
  /** Without a scope: in the organization as a whole. */
  may(permission: Permission, scope?: Scope): boolean;
  mayAnywhere(permission: Permission): boolean;
  /** Returns the reach of a permission: the rows that a list may show. */
  reach(permission: Permission): Reach;
}

/**
 * Throws session.required or organization.not_found. A missing organization and a foreign one give the same error.
 */
export async function requireAccess(ctx: ApiContext): Promise<Access> {
  if (ctx.bearer !== null) return requireToken(ctx, ctx.bearer);
  const session = await requireSession(ctx);
  const slug = ctx.organizationSlug;
  if (slug === null) throw new AppError('organization.not_found');
  ctx.memo.member ??= readMember(ctx, session.user.id, slug);
  const member = await ctx.memo.member;
  if (member === null) throw new AppError('organization.not_found');
  requireSecondFactor(session, member);
  return accessOf(member);
}

export type Operator = Pick<OperatorCtx, 'organizationId' | 'actor'>;

/** Opens system scope with a stated reason, for an operator. */
export function asOperator<T>(
  ctx: ApiContext & { readonly operator: Operator },
  reason: string,
  run: (core: OperatorCtx) => Promise<T>,
): Promise<T> {
  return inSystemScope(ctx, reason, (core) => run({ ...core, ...ctx.operator, ip: ctx.ip }));
}

/** Throws control_plane.operator_only unless the caller operates this control plane and asks in the organization for it. */
export async function requireOperator(ctx: ApiContext): Promise<Operator> {
  await requireSession(ctx);
  const access = await requireAccess(ctx);
  const { organizationId, actor } = access;
  if (actor.kind !== 'member' || !(await isOperator(ctx, access))) throw new AppError('control_plane.operator_only');
  return { organizationId, actor };
}

/** True if the caller is a person who operates this control plane, and asks in the organization for it. */
export async function isOperator(ctx: ApiContext, { organizationId, actor }: Access): Promise<boolean> {
  if (actor.kind !== 'member') return false;
  const operated = await inSystemScope(ctx, 'tell whether a person operates the control plane', (core) =>
    findOperatedOrganization(core, { userId: actor.userId }),
  );
  return operated === organizationId;
}

async function requireToken(ctx: ApiContext, token: string): Promise<Access> {
  ctx.memo.token ??= inSystemScope(ctx, 'resolve the API token of a request', (core) =>
    findActiveToken(core, { token, ip: ctx.ip }),
  );
  const found = await ctx.memo.token;
  if (found === null) {
    ctx.rateLimit.forget(ctx.headers);
    throw new AppError('token.invalid');
  }
  ctx.rateLimit.recognise(ctx.headers, found.tokenId);
  // The token names its organization; a request that names a different one as well is refused.
  if (ctx.organizationSlug !== null && ctx.organizationSlug !== found.organizationSlug)
    throw new AppError('organization.not_found');
  return accessOfToken(found);
}

/** Only for people: a token never stands in for a session. */
export async function requireSession(ctx: ApiContext): Promise<Session> {
  if (ctx.bearer !== null) throw new AppError('token.person_only');
  const session = await ctx.session();
  if (session === null) {
    ctx.rateLimit.forget(ctx.headers);
    throw new AppError('session.required');
  }
  ctx.rateLimit.recognise(ctx.headers, session.user.id);
  return session;
}

/** Reads access like `requireAccess`, but without its cache: for streams, which outlive their first check. */
export async function readAccess(ctx: ApiContext, before: Access): Promise<Access> {
  if (ctx.bearer !== null) throw new AppError('token.person_only');
  const session = await ctx.auth.readSession(ctx.headers);
  if (session === null) throw new AppError('session.required');
  const member = await readMember(ctx, session.user.id, before.organizationSlug);
  if (member === null || before.actor.kind !== 'member' || member.userId !== before.actor.userId) {
    throw new AppError('organization.not_found');
  }
  requireSecondFactor(session, member);
  return accessOf(member);
}

/**
 * Throws if the organization requires a second factor and the member has none. Setting one up needs no membership, so
 * no member is locked out.
 */
function requireSecondFactor(session: Session, member: ActiveMember): void {
  if (member.requiresTwoFactor && !session.user.hasSecondFactor) {
    throw new AppError('organization.two_factor_required');
  }
}

function readMember(ctx: ApiContext, userId: string, organizationSlug: string): Promise<ActiveMember | null> {
  return inSystemScope(ctx, 'resolve the membership of a request', (core) =>
    findActiveMember(core, { userId, organizationSlug }),
  );
}

function accessOf({ organizationId, organizationSlug, userId, role, rights }: ActiveMember): Access {
  return accessBy({ organizationId, organizationSlug, actor: { kind: 'member', userId, role }, rights });
}

function accessOfToken({ organizationId, organizationSlug, tokenId, userId, rights }: ActiveToken): Access {
  return accessBy({ organizationId, organizationSlug, actor: { kind: 'token', tokenId, userId }, rights });
}

function accessBy(known: Omit<Access, 'may' | 'mayAnywhere' | 'reach'>): Access {
  return {
    ...known,
    may: (permission, scope) => may(known.rights, permission, scope),
    mayAnywhere: (permission) => mayAnywhere(known.rights, permission),
    reach: (permission) => reachOf(known.rights, permission),
  };
}
