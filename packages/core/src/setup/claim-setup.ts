import { newId } from '@fairlead/contract/ids';
import { AppError, hashToken, type SystemCtx } from '../kernel/index.ts';
import type { ClaimSetupInput } from './schema.ts';

/**
 * Makes the first account the owner of the organization that the token belongs to. `createAccount` runs while the
 * token's row is locked, and once only; its caller takes the account back when this transaction fails after it.
 */
export async function claimSetup(
  ctx: SystemCtx,
  input: Pick<ClaimSetupInput, 'token'>,
  createAccount: () => Promise<{ userId: string }>,
): Promise<{ organizationSlug: string }> {
  const now = ctx.clock.now();
  // The row lock makes a second claimer wait, then find `used_at` set.
  const claimed = await ctx.tx.$queryRaw<{ organizationId: string; slug: string }[]>`
    UPDATE setup_token SET used_at = ${now}
    FROM organization
    WHERE setup_token.token_hash = ${hashToken(input.token)} AND setup_token.used_at IS NULL
      AND organization.id = setup_token.organization_id
    RETURNING organization.id AS "organizationId", organization.slug AS "slug"`;
  const [organization] = claimed;
  if (organization === undefined) throw new AppError('setup.token_invalid');
  await ctx.tx.$executeRaw`SELECT id FROM organization WHERE id = ${organization.organizationId} FOR UPDATE`;
  const { organizationId, slug } = organization;
  const member = await ctx.tx.member.findFirst({ where: { organizationId }, select: { id: true } });
  if (member !== null) throw new AppError('setup.already_claimed');

  const { userId } = await createAccount();
  await ctx.tx.member.create({ data: { id: newId('mem'), organizationId, userId, role: 'owner', createdAt: now } });
  ctx.log.info({ organizationId, userId }, 'the first account became the owner');
  return { organizationSlug: slug };
}
