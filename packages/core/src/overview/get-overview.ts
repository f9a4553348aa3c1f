// Returns the data of the overview page, in a fixed number of queries.
import { countApps, loadApps } from '../app/index.ts';
import { type AttentionReach, attentionWithin, listAttention } from '../attention/index.ts';
import { type BuildSlots, loadDeployments } from '../deployment/index.ts';
import type { AppLinks } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { loadAppFigures } from '../metric/index.ts';
import { type Reach, reachWithin } from '../role/index.ts';
import { loadServers, type ServerSummary } from '../server/index.ts';
import { type ChecklistRights, getChecklist } from './get-checklist.ts';
import { getTotals } from './get-totals.ts';
import type { GetOverviewInput, Overview, OverviewApp } from './schema.ts';

const appsShown = 12;
const serversShown = 12;

export interface OverviewOptions {
  readonly links: AppLinks;
  readonly buildSlots: BuildSlots;
  readonly reach: AttentionReach & { readonly metrics: Reach };
  readonly checklist: ChecklistRights;
}

/** The first page: the latest of everything that the reader may see, and what of it deserves attention. */
export async function getOverview(
  ctx: Ctx,
  { projectId }: GetOverviewInput,
  { links, buildSlots, reach, checklist }: OverviewOptions,
): Promise<Overview> {
  const sees = await attentionWithin(ctx, reach, projectId);
  const metrics = await reachWithin(ctx, reach.metrics, projectId);
  const servers = (sees.servers ? await loadServers(ctx) : []).toSorted((a, b) => isOffline(b) - isOffline(a));
  return {
    attention: await listAttention(ctx, { reach: sees, buildSlots }),
    totals: await getTotals(ctx, { metrics, deployments: sees.deployments }),
    checklist: await getChecklist(ctx, checklist),
    apps: await loadOverviewApps(ctx, sees.apps, links),
    appCount: await countApps(ctx, sees.apps),
    servers: servers.slice(0, serversShown),
    serverCount: servers.length,
  };
}

/** Offline servers come first, so that the page never leaves one out; the others stay in the order of their names. */
function isOffline({ state }: ServerSummary): number {
  return Number(state === 'offline');
}

async function loadOverviewApps(ctx: Ctx, reach: Reach, links: AppLinks): Promise<OverviewApp[]> {
  const loaded = await loadApps(ctx, { reach, order: 'latest', limit: appsShown }, links);
  const figures = await loadAppFigures(
    ctx,
    loaded.map(({ summary }) => ({ appId: summary.id, environmentId: summary.environmentId })),
  );
  const ids = loaded.flatMap(({ summary }) => summary.lastDeployment?.id ?? []);
  const deployments = await loadDeployments(ctx, { reach, ids, limit: appsShown });
  return loaded.map(({ summary }) => {
    const { requests, errors, p95Ms } = figures.get(summary.id) ?? { requests: null, errors: null, p95Ms: null };
    const last = deployments.find(({ id }) => id === summary.lastDeployment?.id);
    return {
      ...summary,
      requests,
      errorShare: requests === null ? null : errors / requests,
      p95Ms,
      deployedBy: last ?? null,
    };
  });
}
