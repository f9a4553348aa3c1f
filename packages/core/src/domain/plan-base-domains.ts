// Gives each app in each environment a name below the base domain of its primary server, and takes it back with the base domain.
// Safe to run twice.
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { claimHost } from '../host/index.ts';
import { notifyChange, type OrganizationCtx, type SystemCtx, withDeletedApps } from '../kernel/index.ts';
import { bumpServersOf } from '../placement/index.ts';
import { hostPolicySchema, storedPolicySchema, withNoindex } from '../traffic/index.ts';
import { automaticLabel } from './automatic-name.ts';
import { listReservedHosts, lockHosts } from './create-route.ts';
import { copyGuards } from './preview-guards.ts';

/** Returns the organizations with a base domain or with a name below a former one. */
export async function listOrganizationsWithBaseDomains({ tx }: SystemCtx): Promise<readonly OrganizationId[]> {
  const rows = await tx.$queryRaw<{ organizationId: string }[]>`
    SELECT organization_id AS "organizationId" FROM server WHERE base_domain IS NOT NULL
    UNION SELECT organization_id FROM domain WHERE automatic ORDER BY 1`;
  return rows.map(({ organizationId }) => parseId('org', organizationId));
}

interface PlacementRow {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly appSlug: string;
  readonly environmentSlug: string;
  readonly isPrimary: boolean;
  readonly isPreview: boolean;
  /** Base domain of its primary server; null: none. */
  readonly baseDomain: string | null;
  readonly domainId: string | null;
  readonly host: string | null;
}

/** `environmentId`: only the names in this environment. */
export async function planBaseDomains(
  ctx: OrganizationCtx,
  { environmentId }: { readonly environmentId?: string } = {},
): Promise<void> {
  const { tx, organizationId } = ctx;
  const rows = await tx.$queryRaw<PlacementRow[]>`
    SELECT placement.id, placement.app_id AS "appId", placement.environment_id AS "environmentId", app.slug AS "appSlug",
           environment.slug AS "environmentSlug", placement.is_primary AS "isPrimary",
           environment.kind = 'preview' AS "isPreview", server.base_domain AS "baseDomain",
           domain.id AS "domainId", domain.host
    FROM placement
    JOIN app ON app.id = placement.app_id
    JOIN environment ON environment.id = placement.environment_id
    LEFT JOIN LATERAL (
      SELECT server_id FROM placement_server WHERE placement_server.placement_id = placement.id ORDER BY position LIMIT 1
    ) AS first_server ON true
    LEFT JOIN server ON server.id = first_server.server_id
    LEFT JOIN domain ON domain.app_id = placement.app_id AND domain.environment_id = placement.environment_id AND domain.automatic
    WHERE placement.organization_id = ${organizationId}
      AND (${environmentId ?? null}::text IS NULL OR placement.environment_id = ${environmentId ?? null})
    ORDER BY placement.id`;
  for (const row of rows) {
    const isRight = row.baseDomain === null ? row.host === null : row.host?.endsWith(`.${row.baseDomain}`) === true;
    if (isRight) continue;
    if (row.baseDomain === null) await deleteName(ctx, row);
    else {
      const host = await findName(ctx, row, row.baseDomain);
      if (row.host === null) await createName(ctx, row, host);
      else await renameHost(ctx, row, { from: row.host, to: host });
    }
    await bumpServersOf(ctx, row);
    const appId = parseId('app', row.appId);
    await notifyChange(ctx, { kind: 'app', id: appId, appId });
  }
}

/** A path of a preview's name is a copy, and ends with it. */
async function deleteName({ tx, organizationId }: OrganizationCtx, row: PlacementRow): Promise<void> {
  const { appId, environmentId, host, isPreview } = row;
  if (host === null) return;
  const where = { organizationId, appId, environmentId, host };
  await tx.domain.deleteMany({ where: isPreview ? where : { ...where, automatic: true } });
}

/** Finds an unused name below the base domain, and claims it. */
async function findName(ctx: OrganizationCtx, row: PlacementRow, baseDomain: string): Promise<string> {
  const { tx, organizationId } = ctx;
  await lockHosts(ctx, [baseDomain]);
  // A deleted app keeps its names.
  const taken = await withDeletedApps(ctx, () =>
    tx.domain.findMany({ where: { organizationId, host: { endsWith: `.${baseDomain}` } }, select: { host: true } }),
  );
  const ofDashboard = await tx.dashboardDomain.findMany({ where: { organizationId }, select: { host: true } });
  const reserved = await listReservedHosts(ctx);
  const hosts = new Set([...taken.map(({ host }) => host), ...ofDashboard.map(({ host }) => host), ...reserved]);
  const host = `${automaticLabel(row, (label) => hosts.has(`${label}.${baseDomain}`))}.${baseDomain}`;
  await lockHosts(ctx, [host]);
  await claimHost(ctx, host);
  return host;
}

/** The name keeps its policy, TLS settings and paths: another base domain must not open a guarded app. */
async function renameHost(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: PlacementRow,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await tx.domain.updateMany({ where: { organizationId, appId, environmentId, host: from }, data: { host: to } });
  const tls = await tx.hostPolicy.findFirst({ where: { organizationId, host: from }, select: { policy: true } });
  if (tls === null) return;
  const policy = hostPolicySchema.parse(tls.policy);
  await tx.hostPolicy.upsert({
    where: { organizationId_host: { organizationId, host: to } },
    create: { organizationId, host: to, policy },
    update: { policy },
  });
  if ((await tx.domain.count({ where: { organizationId, host: from } })) === 0) {
    await tx.hostPolicy.deleteMany({ where: { organizationId, host: from } });
  }
}

async function createName(ctx: OrganizationCtx, row: PlacementRow, host: string): Promise<void> {
  const { tx, organizationId, clock } = ctx;
  const { appId, environmentId, isPrimary } = row;
  // Search engines should find the app in its primary environment only.
  const policy = isPrimary ? {} : withNoindex(storedPolicySchema.parse({}));
  const created = { id: newId('dom'), organizationId, appId, environmentId, host, policy, automatic: true };
  await tx.domain.create({ data: { ...created, createdAt: clock.now() } });
  if (row.isPreview) await copyGuards(ctx, row);
}
