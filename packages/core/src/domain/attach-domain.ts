// Attaches a host name, or a path of one, to an app.

import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf, requirePlacement } from '../placement/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { createRoute } from './create-route.ts';
import { type HostPolicy, isReservedHost } from './reserved-host.ts';
import { type AppLinks, domainLabel } from './rules.ts';
import type { AttachDomainInput, DomainView } from './schema.ts';
import { loadDomains } from './store.ts';

/** Routes a host name, or one path prefix of it, to an app. `reach`: scopes where the caller may write domains. */
export async function attachDomain(
  ctx: Ctx,
  input: AttachDomainInput,
  config: AppLinks & HostPolicy,
  reach: Reach = wholeReach,
): Promise<DomainView> {
  const { appId, host, pathPrefix } = input;
  if (isReservedHost(host, config)) throw new AppError('domain.reserved', { host });
  const { environmentId } = await requirePlacement(ctx, input);
  const id = await createRoute(ctx, { appId, environmentId, host, pathPrefix }, reach);
  await bumpServersOf(ctx, { appId, environmentId });
  await recordAudit(ctx, {
    action: 'domain.attach',
    target: { kind: 'domain', id, label: domainLabel(input) },
    after: { host, pathPrefix, appId, environmentId },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  const [domain] = await loadDomains(ctx, { reach: wholeReach, id, limit: 1 }, config);
  if (domain === undefined) throw new AppError('domain.not_found', { domainId: id });
  return domain;
}
