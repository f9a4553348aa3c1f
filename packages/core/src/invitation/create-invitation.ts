// Creates, renews and revokes invitations.
// Invariant: the token of an email invitation leaves by mail only, because it proves that its holder reads that
// address.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, mintToken, notifyChange } from '../kernel/index.ts';
import { lockMembership } from '../member/index.ts';
import { memberRoleSchema, type Rights, requireMayAssign } from '../role/index.ts';
import { invitationLifetimeMs, invitationsPerHourMax, renewalGapMs, renewalsMax } from './rules.ts';
import type { CreateInvitationInput, InvitationInput } from './schema.ts';

export interface MintedInvitation {
  readonly invitationId: ReturnType<typeof newId<'inv'>>;
  readonly token: string;
  readonly email: string | null;
  readonly expiresAt: Date;
}

const hourMs = 60 * 60_000;

/** Throws role.beyond_own when the role is more than the actor has; only owners invite owners. */
export async function createInvitation(ctx: Ctx, input: CreateInvitationInput, by: Rights): Promise<MintedInvitation> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const email = input.email ?? null;
  await lockMembership(ctx);
  await requireMayAssign(ctx, by, { from: null, to: input.role });
  const recent = await tx.invitation.count({
    where: { organizationId, createdAt: { gt: new Date(now.getTime() - hourMs) } },
  });
  if (recent >= invitationsPerHourMax) throw new AppError('invitation.too_many');
  if (email !== null) await requireUninvited(ctx, email);
  const invitationId = newId('inv');
  const { token, hash } = mintToken('invite');
  const expiresAt = new Date(now.getTime() + invitationLifetimeMs);
  await tx.invitation.create({
    data: {
      id: invitationId,
      organizationId,
      tokenHash: hash,
      email,
      role: input.role,
      invitedByUserId: actorUserId(ctx.actor),
      createdAt: now,
      renewedAt: now,
      expiresAt,
    },
  });
  await recordAudit(ctx, {
    action: 'invitation.create',
    target: { kind: 'invitation', id: invitationId, label: email ?? 'by link' },
    after: { email, role: input.role, expiresAt: expiresAt.toISOString() },
  });
  await notifyChange(ctx, { kind: 'member', id: invitationId });
  return { invitationId, token, email, expiresAt };
}

/** A fresh token and a fresh week; the token before it stops working. */
export async function rotateInvitation(ctx: Ctx, input: InvitationInput, by: Rights): Promise<MintedInvitation> {
  const { invitationId } = input;
  const now = ctx.clock.now();
  await lockMembership(ctx);
  const old = await requirePending(ctx, invitationId);
  await requireMayAssign(ctx, by, { from: null, to: memberRoleSchema.parse(old.role) });
  if (old.renewals >= renewalsMax) throw new AppError('invitation.too_many');
  if (now.getTime() - old.renewedAt.getTime() < renewalGapMs) throw new AppError('invitation.too_soon');
  const { token, hash } = mintToken('invite');
  const expiresAt = new Date(now.getTime() + invitationLifetimeMs);
  await ctx.tx.invitation.update({
    where: { id: invitationId },
    data: {
      tokenHash: hash,
      expiresAt,
      renewedAt: now,
      mailedAt: null,
      claims: 0,
      renewals: { increment: 1 },
      // The sender is responsible for it, and it ends with their membership.
      invitedByUserId: actorUserId(ctx.actor),
    },
  });
  await recordAudit(ctx, {
    action: 'invitation.rotate',
    target: { kind: 'invitation', id: invitationId, label: old.email ?? 'by link' },
    before: { expiresAt: old.expiresAt.toISOString() },
    after: { expiresAt: expiresAt.toISOString() },
  });
  await notifyChange(ctx, { kind: 'member', id: invitationId });
  return { invitationId, token, email: old.email, expiresAt };
}

export async function revokeInvitation(ctx: Ctx, input: InvitationInput): Promise<InvitationInput> {
  const { invitationId } = input;
  await lockMembership(ctx);
  const { email, role } = await requirePending(ctx, invitationId);
  await ctx.tx.invitation.update({ where: { id: invitationId }, data: { revokedAt: ctx.clock.now() } });
  await recordAudit(ctx, {
    action: 'invitation.revoke',
    target: { kind: 'invitation', id: invitationId, label: email ?? 'by link' },
    before: { email, role },
  });
  await notifyChange(ctx, { kind: 'member', id: invitationId });
  return { invitationId };
}

/** Records that the mail server accepted the mail; a renewed token has a mail of its own. */
export async function touchInvitation(
  ctx: Ctx,
  input: { readonly invitationId: string; readonly expiresAt: Date },
): Promise<void> {
  const { invitationId, expiresAt } = input;
  await ctx.tx.invitation.updateMany({
    where: { id: invitationId, organizationId: ctx.organizationId, expiresAt },
    data: { mailedAt: ctx.clock.now() },
  });
  await notifyChange(ctx, { kind: 'member', id: parseId('inv', invitationId) });
}

async function requireUninvited(ctx: Ctx, email: string): Promise<void> {
  const { tx, organizationId } = ctx;
  const member = await tx.member.findFirst({ where: { organizationId, user: { email } }, select: { id: true } });
  if (member !== null) throw new AppError('invitation.already_member');
  const open = await tx.invitation.findFirst({
    where: { organizationId, email, acceptedAt: null, revokedAt: null },
    select: { id: true },
  });
  if (open !== null) throw new AppError('invitation.already_invited', { invitationId: open.id });
}

async function requirePending(ctx: Ctx, invitationId: string) {
  const row = await ctx.tx.invitation.findFirst({
    where: { id: invitationId, organizationId: ctx.organizationId, acceptedAt: null, revokedAt: null },
    select: { email: true, role: true, expiresAt: true, renewals: true, renewedAt: true },
  });
  if (row === null) throw new AppError('invitation.not_found', { invitationId });
  return row;
}
