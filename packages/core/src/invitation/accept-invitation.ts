// Accepts an invitation and creates the membership. System scope: the person is not a member yet.
// Invariant: a token admits one person once, and an email invitation admits its address only.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import {
  AppError,
  forOrganization,
  hashToken,
  isUniqueViolation,
  notifyChange,
  type SystemCtx,
} from '../kernel/index.ts';
import { mayStillAssign, memberRoleSchema, permissionsOfRole, roleSchema } from '../role/index.ts';
import { claimsMax } from './rules.ts';
import type { InvitationPreview, Joined } from './schema.ts';

/** Returns the preview that the holder of the token sees before they accept. Throws invitation.token_invalid. */
export async function readInvitation(ctx: SystemCtx, input: { readonly token: string }): Promise<InvitationPreview> {
  const row = await ctx.tx.invitation.findFirst({
    where: openBy(ctx, input.token),
    select: {
      email: true,
      role: true,
      expiresAt: true,
      invitedByUserId: true,
      organization: { select: { name: true } },
    },
  });
  if (row === null) throw new AppError('invitation.token_invalid');
  const inviter =
    row.invitedByUserId === null
      ? null
      : await ctx.tx.user.findUnique({ where: { id: row.invitedByUserId }, select: { name: true } });
  const role = roleSchema.safeParse(row.role);
  return {
    organizationName: row.organization.name,
    role: role.success ? role.data : null,
    invitedBy: inviter?.name ?? null,
    email: row.email,
    expiresAt: row.expiresAt,
  };
}

/**
 * Checks before an account is created for an invitation: the token is valid, for this address, and not tried too
 * often. Counts the attempt. Throws invitation.token_invalid, invitation.other_address or request.too_many.
 */
export async function requireInvitation(
  ctx: SystemCtx,
  input: { readonly token: string; readonly email: string },
): Promise<{ readonly email: string | null; readonly allowed: boolean }> {
  const [tried] = await ctx.tx.invitation.updateManyAndReturn({
    where: openBy(ctx, input.token),
    data: { claims: { increment: 1 } },
    select: { email: true, claims: true },
  });
  if (tried === undefined) throw new AppError('invitation.token_invalid');
  if (tried.email !== null && tried.email !== input.email.toLowerCase()) throw new AppError('invitation.other_address');
  // Answered, not thrown: a refusal that rolled back would not have counted.
  return { email: tried.email, allowed: tried.claims <= claimsMax };
}

/**
 * Makes an account a member and spends the token. Throws invitation.token_invalid, invitation.other_address or
 * invitation.already_member; the token then stays valid.
 */
export async function acceptInvitation(
  ctx: SystemCtx,
  input: { readonly token: string; readonly userId: string; readonly ip: string | null },
): Promise<Joined> {
  const { userId, ip } = input;
  const now = ctx.clock.now();
  // The row lock makes a second one wait, then find it accepted. Plain columns only: of a subquery PostgreSQL would not look
  // again after the wait.
  const [invitation] = await ctx.tx.$queryRaw<
    { id: string; organizationId: string; email: string | null; role: string; invitedBy: string | null }[]
  >`
    UPDATE invitation SET accepted_at = ${now}, accepted_by_user_id = ${userId}
    WHERE token_hash = ${hashToken(input.token)} AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > ${now}
    RETURNING id, organization_id AS "organizationId", email, role, invited_by_user_id AS "invitedBy"`;
  if (invitation === undefined) throw new AppError('invitation.token_invalid');
  const user = await ctx.tx.user.findUnique({ where: { id: userId }, select: { name: true, email: true } });
  if (user === null) throw new AppError('session.required');
  if (invitation.email !== null && invitation.email !== user.email.toLowerCase()) {
    throw new AppError('invitation.other_address');
  }
  const organizationId = parseId('org', invitation.organizationId);
  const core = forOrganization(ctx, organizationId);
  const memberId = newId('mem');
  const role = memberRoleSchema.parse(invitation.role);
  // A custom role may have been deleted since; it is locked until this commits.
  await permissionsOfRole(core, role);
  const { invitedBy } = invitation;
  if (invitedBy !== null && !(await mayStillAssign(core, { userId: invitedBy, role }))) {
    throw new AppError('invitation.token_invalid');
  }
  try {
    await ctx.tx.member.create({ data: { id: memberId, organizationId, userId, role, createdAt: now } });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('invitation.already_member', {}, { cause: error });
    throw error;
  }
  const organization = await ctx.tx.organization.findFirst({
    where: { id: organizationId, endingAt: null },
    select: { slug: true },
  });
  if (organization === null) throw new AppError('invitation.token_invalid');
  await recordAudit(
    { ...core, actor: { kind: 'member', userId, role }, ip },
    {
      action: 'invitation.accept',
      target: { kind: 'member', id: memberId, label: `${user.name} (${user.email})` },
      after: { role, invitation: invitation.id },
    },
  );
  await notifyChange(core, { kind: 'member', id: memberId });
  ctx.log.info({ organizationId, userId, invitationId: invitation.id }, 'somebody joined by invitation');
  return { organizationSlug: organization.slug };
}

function openBy(ctx: SystemCtx, token: string) {
  return {
    tokenHash: hashToken(token),
    acceptedAt: null,
    revokedAt: null,
    expiresAt: { gt: ctx.clock.now() },
    organization: { endingAt: null },
  };
}
