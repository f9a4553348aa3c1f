// Owns a host name getting its app.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation, notifyChange } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { bumpServersOf } from '../server/index.ts';
import { type AppLinks, type HostPolicy, isReservedHost } from './rules.ts';
import type { AttachDomainInput, DomainView } from './schema.ts';
import { loadDomains } from './store.ts';

/** Routes a host name to an app. A host belongs to one organization of this control plane. */
export async function attachDomain(
  ctx: Ctx,
  input: AttachDomainInput,
  config: AppLinks & HostPolicy,
): Promise<DomainView> {
  const { organizationId } = ctx;
  const { appId, host } = input;
  if (isReservedHost(host, config)) throw new AppError('domain.reserved', { host });
  const placement = await ctx.tx.placement.findFirst({
    where: {
      appId,
      organizationId,
      ...(input.environmentId === undefined ? {} : { environmentId: input.environmentId }),
    },
    select: { environmentId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (placement === null) throw new AppError('app.not_found', { appId });
  const id = newId('dom');
  try {
    await ctx.tx.domain.create({
      data: {
        id,
        organizationId,
        appId,
        environmentId: placement.environmentId,
        host,
        createdAt: ctx.clock.now(),
      },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('domain.taken', { host }, { cause: error });
    throw error;
  }
  await bumpServersOf(ctx, { appId, environmentId: placement.environmentId });
  await recordAudit(ctx, {
    action: 'domain.attach',
    target: { kind: 'domain', id, label: host },
    after: { host, appId, environmentId: placement.environmentId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  const [domain] = await loadDomains(ctx, { reach: wholeReach, id, limit: 1 }, config);
  if (domain === undefined) throw new AppError('domain.not_found', { domainId: id });
  return domain;
}
