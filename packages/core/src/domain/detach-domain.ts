// Detaches a host name from its app.

import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf } from '../placement/index.ts';
import { domainLabel } from './rules.ts';
import type { DomainRef } from './schema.ts';

export async function detachDomain(ctx: Ctx, input: DomainRef): Promise<DomainRef> {
  const { organizationId } = ctx;
  const { domainId } = input;
  const found = await ctx.tx.domain.findFirst({
    where: { id: domainId, organizationId },
    select: { appId: true, environmentId: true, host: true, pathPrefix: true, automatic: true },
  });
  if (found === null) throw new AppError('domain.not_found', { domainId });
  const { automatic, ...domain } = found;
  // It would come back at once.
  if (automatic) throw new AppError('domain.automatic', { host: domain.host });
  await ctx.tx.domain.deleteMany({ where: { id: domainId, organizationId } });
  // The last path of a host takes the host's TLS settings with it.
  if ((await ctx.tx.domain.count({ where: { organizationId, host: domain.host } })) === 0) {
    await ctx.tx.hostPolicy.deleteMany({ where: { organizationId, host: domain.host } });
  }
  await bumpServersOf(ctx, domain);
  await recordAudit(ctx, {
    action: 'domain.detach',
    target: { kind: 'domain', id: domainId, label: domainLabel(domain) },
    before: { ...domain },
  });
  await notifyChange(ctx, { kind: 'app', id: domain.appId, appId: domain.appId });
  return { domainId };
}
