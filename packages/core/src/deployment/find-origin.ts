// Reads the current values of the FAIRLEAD_ variables of an app in an environment.
import type { OrganizationCtx } from '../kernel/index.ts';
import type { Origin } from '../release/index.ts';
import { storedPolicySchema } from '../traffic/index.ts';

type AppOrigin = Pick<Origin, 'appSlug' | 'environmentName' | 'route'>;

export async function findOrigin(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<AppOrigin> {
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { slug: true } });
  const environment = await tx.environment.findFirstOrThrow({
    where: { id: environmentId, organizationId },
    select: { name: true },
  });
  const domains = await tx.domain.findMany({
    where: { appId, environmentId, organizationId },
    select: { host: true, pathPrefix: true, policy: true },
    orderBy: [{ automatic: 'asc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  // A wildcard is no address, and a redirect leads elsewhere.
  const first = domains.find(
    ({ host, policy }) => !host.startsWith('*') && storedPolicySchema.parse(policy).redirect === null,
  );
  return {
    appSlug: app.slug,
    environmentName: environment.name,
    route: first === undefined ? null : { host: first.host, pathPrefix: first.pathPrefix },
  };
}
