// Claims the set-up: the first account becomes the owner.
// Invariant: it succeeds once for a token.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, forOrganization, hashToken, type SystemCtx } from '../kernel/index.ts';

/**
 * Makes an account the owner of the token's organization, and uses up the token. The account exists already, because
 * identity commits on its own connection: the caller deletes it when this throws.
 */
export async function claimSetup(
  ctx: SystemCtx,
  input: { readonly token: string; readonly userId: string; readonly ip?: string | null },
): Promise<{ organizationSlug: string }> {
  const now = ctx.clock.now();
  // The row lock makes a second claimer wait, then find `used_at` set.
  const [organization] = await ctx.tx.$queryRaw<{ id: string; slug: string }[]>`
    UPDATE setup_token SET used_at = ${now}
    FROM organization
    WHERE setup_token.token_hash = ${hashToken(input.token)} AND setup_token.used_at IS NULL
      AND organization.id = setup_token.organization_id
    RETURNING organization.id, organization.slug`;
  if (organization === undefined) throw new AppError('setup.token_invalid');
  const { id: organizationId, slug: organizationSlug } = organization;
  const member = await ctx.tx.member.findFirst({ where: { organizationId }, select: { id: true } });
  if (member !== null) throw new AppError('setup.already_claimed');
  const { userId } = input;
  await ctx.tx.member.create({ data: { id: newId('mem'), organizationId, userId, role: 'owner', createdAt: now } });
  await recordAudit(
    {
      ...forOrganization(ctx, parseId('org', organizationId)),
      actor: { kind: 'member', userId, role: 'owner' },
      ip: input.ip ?? null,
    },
    {
      action: 'setup.claim',
      target: { kind: 'organization', id: organizationId, label: organizationSlug },
      after: { userId, role: 'owner' },
    },
  );
  ctx.log.info({ organizationId, userId }, 'the first account became the owner');
  return { organizationSlug };
}
