// Finds the pull request of a stored delivery whose changed files decide about a preview.
import type { DeliveryId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type FilteredPullRequest, findFilteredPullRequest } from '../preview/index.ts';
import type { SecretKeys } from '../secret/index.ts';

/** Null: the delivery needs no list of files. Throws a SyntaxError or a ZodError for a body of another shape. */
export async function findPathFilter(
  ctx: OrganizationCtx,
  { deliveryId }: { readonly deliveryId: DeliveryId },
  keys: SecretKeys,
): Promise<FilteredPullRequest | null> {
  const { organizationId } = ctx;
  const row = await ctx.tx.webhookDelivery.findFirst({
    where: { id: deliveryId, organizationId, source: 'github', event: 'pull_request', state: 'received' },
    select: { endpointId: true, body: true },
  });
  return row === null ? null : findFilteredPullRequest(ctx, row, keys);
}
