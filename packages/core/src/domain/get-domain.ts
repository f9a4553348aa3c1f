// Returns one domain with its policy.
// Invariant: it never returns the hash of a password.
import { AppError, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { policySchema } from '../traffic/index.ts';
import type { AppLinks } from './domain-url.ts';
import type { DomainPolicyView, DomainRef } from './schema.ts';
import { loadDomains } from './store.ts';

export async function getDomain(ctx: Ctx, { domainId }: DomainRef, links: AppLinks): Promise<DomainPolicyView> {
  const [domain] = await loadDomains(ctx, { reach: wholeReach, id: domainId, limit: 1 }, links);
  const row = await ctx.tx.domain.findFirst({
    where: { id: domainId, organizationId: ctx.organizationId },
    select: { policy: true },
  });
  if (domain === undefined || row === null) throw new AppError('domain.not_found', { domainId });
  return { ...domain, policy: policySchema.parse(row.policy) };
}
