// Attaches a host name, or a path of one, to an app, or redirects it to another host.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf, requirePlacement } from '../placement/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { policyInputSchema } from '../traffic/index.ts';
import { createRoute } from './create-route.ts';
import { type AppLinks, domainUrl } from './domain-url.ts';
import { type HostPolicy, isReservedHost } from './reserved-host.ts';
import { domainLabel } from './rules.ts';
import type { AttachDomainInput, DomainView } from './schema.ts';
import { loadDomains } from './store.ts';
import { updateDomainPolicy } from './update-domain-policy.ts';

/** Routes a host name, or one path prefix of it, to an app. `reach`: scopes where the caller may write domains. */
export async function attachDomain(
  ctx: Ctx,
  input: AttachDomainInput,
  config: AppLinks & HostPolicy,
  reach: Reach = wholeReach,
): Promise<DomainView> {
  const { appId, host, pathPrefix, redirectTo } = input;
  if (isReservedHost(host, config)) throw new AppError('domain.reserved', { host });
  const { environmentId } = await requirePlacement(ctx, input);
  const id = parseId('dom', await createRoute(ctx, { appId, environmentId, host, pathPrefix }, reach));
  const load = async () => {
    const [domain] = await loadDomains(ctx, { reach: wholeReach, id, limit: 1 }, config);
    if (domain === undefined) throw new AppError('domain.not_found', { domainId: id });
    return domain;
  };
  if (redirectTo !== undefined) {
    if (redirectTo === host) throw new AppError('domain.redirects_to_itself', { host });
    // Only the local server has other ports than the usual ones. The target is served there too.
    const { port } = new URL((await load()).url);
    const to = domainUrl({ host: redirectTo, pathPrefix: '/' }, port !== '', config);
    const policy = policyInputSchema.parse({ redirect: { to, status: 308, keepPath: true } });
    await updateDomainPolicy(ctx, { domainId: id, policy });
  }
  await bumpServersOf(ctx, { appId, environmentId });
  await recordAudit(ctx, {
    action: 'domain.attach',
    target: { kind: 'domain', id, label: domainLabel(input) },
    after: { host, pathPrefix, appId, environmentId, ...(redirectTo === undefined ? {} : { redirectTo }) },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return load();
}
