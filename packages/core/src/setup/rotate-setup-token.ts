// Rotates the setup token, which each start prints.
// Invariant: it never stores the token itself.
import { newId, type OrganizationId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { forOrganization, mintToken, type SystemCtx } from '../kernel/index.ts';

/**
 * Makes a new one-time token for the first organization; earlier unused ones stop working. Null once it has a member.
 * The token is returned here and never again: only its hash is stored.
 */
export async function rotateSetupToken(
  ctx: SystemCtx,
  input: { organizationId: OrganizationId },
): Promise<string | null> {
  const { organizationId } = input;
  // Serializes with claimSetup, which updates the token's row while it makes the owner.
  await ctx.tx.$executeRaw`SELECT id FROM organization WHERE id = ${organizationId} FOR UPDATE`;
  const member = await ctx.tx.member.findFirst({ where: { organizationId }, select: { id: true } });
  if (member !== null) return null;
  await ctx.tx.setupToken.deleteMany({ where: { organizationId, usedAt: null } });
  const { token, hash } = mintToken('setup');
  const id = newId('stk');
  await ctx.tx.setupToken.create({ data: { id, organizationId, tokenHash: hash, createdAt: ctx.clock.now() } });
  await recordAudit(
    { ...forOrganization(ctx, organizationId), actor: { kind: 'system', reason: 'start before set-up' } },
    { action: 'setup.rotate', target: { kind: 'setup token', id, label: 'Setup token' } },
  );
  return token;
}
