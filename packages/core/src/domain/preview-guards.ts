// Copies the access rules of a preview from the environment that previews of its app use: policies of the app's name there, and
// the TLS settings of that host.
// Invariant: a preview never runs with settings of an environment but without its guards.
import { newId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import {
  type HostPolicySettings,
  hostPolicySchema,
  type StoredPolicy,
  storedPolicySchema,
  withNoindex,
} from '../traffic/index.ts';

interface PreviewOf {
  readonly appId: string;
  readonly environmentId: string;
}

interface Guards {
  readonly policy: StoredPolicy;
  /** Further paths of the name that lead to the app. */
  readonly paths: readonly { readonly pathPrefix: string; readonly policy: StoredPolicy }[];
  /** Null: the defaults. */
  readonly tls: HostPolicySettings | null;
}

/** Updates the name of a preview and its paths. Does nothing for a preview without a name. The caller bumps its servers. */
export async function copyGuards(ctx: OrganizationCtx, preview: PreviewOf): Promise<void> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = preview;
  const where = { organizationId, appId, environmentId };
  const name = await tx.domain.findFirst({ where: { ...where, automatic: true }, select: { id: true, host: true } });
  if (name === null) return;
  const { id, host } = name;
  const { policy, paths, tls } = await findGuards(ctx, appId);
  await tx.domain.updateMany({ where: { id, organizationId }, data: { policy } });
  await tx.domain.deleteMany({ where: { ...where, host, automatic: false } });
  const createdAt = ctx.clock.now();
  await tx.domain.createMany({
    data: paths.map((path) => ({ ...path, ...where, id: newId('dom'), host, createdAt })),
    // A path of the preview's host that another app has stays there.
    skipDuplicates: true,
  });
  await copyTls(ctx, { ...preview, host }, tls);
}

async function copyTls(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId, host }: PreviewOf & { readonly host: string },
  policy: HostPolicySettings | null,
): Promise<void> {
  if (policy !== null) {
    await tx.hostPolicy.upsert({
      where: { organizationId_host: { organizationId, host } },
      create: { organizationId, host, policy },
      update: { policy },
    });
    return;
  }
  const others = await tx.domain.count({ where: { organizationId, host, NOT: { appId, environmentId } } });
  if (others === 0) await tx.hostPolicy.deleteMany({ where: { organizationId, host } });
}

/** Prefers the automatic name. Prefers any name to a redirect, because the target of a redirect has the guards. */
async function findGuards({ tx, organizationId }: OrganizationCtx, appId: string): Promise<Guards> {
  const previews = await tx.previewPolicy.findFirst({
    where: { appId, organizationId },
    select: { environmentId: true },
  });
  const rows = await tx.domain.findMany({
    where: { organizationId, appId, environmentId: previews?.environmentId ?? '' },
    select: { host: true, pathPrefix: true, policy: true },
    orderBy: [{ automatic: 'desc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  const all = rows.map((row) => ({ ...row, policy: storedPolicySchema.parse(row.policy) }));
  const roots = all.filter(({ pathPrefix }) => pathPrefix === '/');
  const isServed = ({ policy }: (typeof all)[number]) => policy.redirect === null;
  const root = roots.find(isServed) ?? all.find(isServed) ?? all[0];
  if (root === undefined) return { policy: withNoindex(storedPolicySchema.parse({})), paths: [], tls: null };
  const { host } = root;
  const paths = all.filter((row) => row.host === host && row.pathPrefix !== '/');
  const tls = await tx.hostPolicy.findFirst({ where: { organizationId, host }, select: { policy: true } });
  return {
    // A preview serves itself where the other environment redirects.
    policy: withNoindex({ ...root.policy, redirect: null }),
    paths: paths.map(({ pathPrefix, policy }) => ({ pathPrefix, policy: withNoindex(policy) })),
    tls: tls === null ? null : hostPolicySchema.parse(tls.policy),
  };
}
