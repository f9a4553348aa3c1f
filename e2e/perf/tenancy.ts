// `npm run perf:tenancy`: measures the cost of row-level security. Runs the ten commonest reads and writes on the large
// scenario, in alternating rounds on a copy with it and a copy without. Prints p50, p95, p99 and their ratios, and writes
// them to docs/benchmarks/tenancy.md with `--write`; asserts nothing.
import { parseArgs } from 'node:util';
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { type AppSummary, getApp, listApps, updateApp } from '@fairlead/core/app';
import { listAudit } from '@fairlead/core/audit';
import {
  cancelDeployment,
  createDeployment,
  type DeploymentSummary,
  getDeployment,
  listDeploymentFilters,
  listDeployments,
} from '@fairlead/core/deployment';
import { listDomains } from '@fairlead/core/domain';
import { type Ctx, systemClock } from '@fairlead/core/kernel';
import { getAppMetric } from '@fairlead/core/metric';
import { getOverview } from '@fairlead/core/overview';
import { getServer, listServers, type ServerSummary } from '@fairlead/core/server';
import { wholeOverview } from '@fairlead/core/testing';
import { createDatabase, type Database } from '@fairlead/db';
import { loadInSystemScope } from '@fairlead/db/copy';
import { cloneDatabase, startTestCluster, switchRowSecurityOff } from '@fairlead/db/testing/cluster';
import { seedLarge } from '../../prisma/seed/seed.ts';
import { writeReport } from './report.ts';
import { percentile } from './table.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    calls: { type: 'string', default: '10' },
    write: { type: 'boolean', default: false },
  },
});
const [rounds, calls] = [Number(values.rounds), Number(values.calls)];
const links = { localHttpsPort: 4443, localHttpPort: 4480 };
const note = (line: string) => console.log(`  …  ${line}`);
const dayMs = 24 * 3_600_000;
const quiet = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };

interface Target {
  readonly name: string;
  readonly database: Database;
  readonly userId: string;
  readonly organizationId: OrganizationId;
}

interface Call {
  readonly name: string;
  readonly run: (ctx: Ctx) => Promise<unknown>;
}

const cluster = await startTestCluster();
try {
  const base = await cloneDatabase(cluster.templateUrl);
  await base.database.close();
  note('loading the large scenario');
  const { organizationId } = await seedLarge({ url: base.url, replace: false, owner: null, note: () => undefined });
  const open = await cloneDatabase(base.url);
  await open.database.close();
  await switchRowSecurityOff(open.url);
  const userId = await ownerOf(base.url, organizationId);
  const targets = [
    { name: 'on', url: base.url },
    { name: 'off', url: open.url },
  ].map(({ name, url }) => ({
    name,
    userId,
    organizationId: parseId('org', organizationId),
    database: createDatabase({ url, poolMax: 2, applicationName: 'perf' }),
  }));
  await measure(targets);
  for (const { database } of targets) await database.close();
} finally {
  await cluster.stop();
}

async function measure(targets: readonly Target[]): Promise<void> {
  const first = targets[0];
  if (first === undefined) return;
  const list = await callsOf(first);
  const times = new Map<string, number[]>();
  for (const { run } of list) for (const target of targets) await within(target, run);
  for (let round = 0; round < rounds; round++) {
    for (const { name, run } of list) {
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        const taken = times.get(`${name} ${target.name}`) ?? [];
        times.set(`${name} ${target.name}`, taken);
        for (let call = 0; call < calls; call++) {
          const startedAt = performance.now();
          await within(target, run);
          taken.push(performance.now() - startedAt);
        }
      }
    }
  }
  console.log(
    `\n${rounds} rounds of ${calls} calls, ms              on p50      p95      p99  off p50      p95      p99  p50 on ÷ off`,
  );
  const rows: string[][] = [];
  for (const { name } of list) {
    const [on = [], off = []] = ['on', 'off'].map((which) => times.get(`${name} ${which}`));
    const figures = [on, off].flatMap((taken) => [0.5, 0.95, 0.99].map((share) => percentile(taken, share)));
    const ratio = (figures[0] ?? 0) / (figures[3] ?? 1);
    console.log(
      `  ${name.padEnd(40)} ${figures.map((figure) => figure.toFixed(2).padStart(8)).join(' ')} ${ratio.toFixed(2).padStart(8)}`,
    );
    rows.push([`\`${name}\``, ...figures.map((figure) => figure.toFixed(2)), ratio.toFixed(2)]);
  }
  if (!values.write) return;
  writeReport({
    page: 'tenancy',
    title: 'Cost of row-level security',
    intro: [
      'Time in milliseconds of the most frequent reads and writes of the control plane, on the large scenario. Rounds alternate between a database with row-level security (on) and a copy without it (off).',
      `\`npm run perf:tenancy -- --write\` repeats the measurement, in ${rounds} rounds of ${calls} calls, and writes this page. The ratio is steadier than the times, which depend on the machine and its load.`,
    ],
    columns: ['call', 'on p50', 'on p95', 'on p99', 'off p50', 'off p95', 'off p99', 'p50 on ÷ off'],
    rows,
  });
}

async function callsOf(target: Target): Promise<readonly Call[]> {
  const { apps, deployments, servers } = await within(target, async (ctx) => ({
    apps: (await listApps(ctx, { limit: 50 }, links)).items,
    deployments: (await listDeployments(ctx, { limit: 50 })).items,
    servers: (await listServers(ctx)).items,
  }));
  const [app, deployment, server] = [apps[7], deployments[7], servers[7]];
  if (app === undefined || deployment === undefined || server === undefined)
    throw new Error('the scenario is too small');
  let turn = 0;
  return [
    { name: 'overview.get', run: (ctx) => getOverview(ctx, {}, wholeOverview(links)) },
    { name: 'app.list', run: (ctx) => listApps(ctx, { limit: 50 }, links) },
    { name: 'app.get', run: (ctx) => getApp(ctx, { slug: app.slug }, links) },
    { name: 'deployment.list', run: (ctx) => listDeployments(ctx, { limit: 50 }) },
    { name: 'deployment.get', run: (ctx) => getDeployment(ctx, { deploymentId: deployment.id }) },
    { name: 'server.get', run: (ctx) => getServer(ctx, { serverId: server.id }) },
    { name: 'domain.list', run: (ctx) => listDomains(ctx, { limit: 50 }, links) },
    ...filteredLists(app, deployment, server, target.userId),
    { name: 'metric.app of a day', run: (ctx) => getAppMetric(ctx, { appId: app.id, range: '24h' }) },
    { name: 'app.update', run: (ctx) => updateApp(ctx, { appId: app.id, healthPath: `/health-${turn++}` }) },
    {
      name: 'deployment.create, then cancel',
      run: async (ctx) => cancelDeployment(ctx, await createDeployment(ctx, { appId: app.id })),
    },
  ];
}

/** Lists with filters and sort orders, each with its count. Texts match a part of the rows only. */
function filteredLists(app: AppSummary, deployment: DeploymentSummary, server: ServerSummary, userId: string): Call[] {
  const limit = 50;
  const [serverId, environmentId, appId] = [server.id, app.environmentId, app.id];
  const to = new Date(deployment.queuedAt.getTime() - 60 * dayMs);
  const dates = { from: new Date(to.getTime() - 30 * dayMs), to };
  const authors = { requestedBy: userId };
  return [
    { name: 'app.list, search', run: (ctx) => listApps(ctx, { limit, search: 'api' }, links) },
    { name: 'app.list, state', run: (ctx) => listApps(ctx, { limit, state: 'unhealthy' }, links) },
    { name: 'app.list by p99', run: (ctx) => listApps(ctx, { limit, sort: 'p99' }, links) },
    { name: 'app.list by last deployment', run: (ctx) => listApps(ctx, { limit, sort: 'last_deployment' }, links) },
    { name: 'app.list, server, state', run: (ctx) => listApps(ctx, { limit, serverId, state: 'healthy' }, links) },
    { name: 'deployment.list, search', run: (ctx) => listDeployments(ctx, { limit, search: 'cache' }) },
    {
      name: 'deployment.list, search without results',
      run: (ctx) => listDeployments(ctx, { limit, search: 'no such text' }),
    },
    { name: 'deployment.list, state', run: (ctx) => listDeployments(ctx, { limit, state: 'failed' }) },
    { name: 'deployment.list, branch', run: (ctx) => listDeployments(ctx, { limit, branch: deployment.ref }) },
    { name: 'deployment.list, unknown branch', run: (ctx) => listDeployments(ctx, { limit, branch: 'none' }) },
    { name: 'deployment.list, author', run: (ctx) => listDeployments(ctx, { limit, ...authors }) },
    { name: 'deployment.list, server', run: (ctx) => listDeployments(ctx, { limit, serverId }) },
    { name: 'deployment.list, dates', run: (ctx) => listDeployments(ctx, { limit, ...dates }) },
    { name: 'deployment.list, oldest first', run: (ctx) => listDeployments(ctx, { limit, order: 'oldest' }) },
    {
      name: 'deployment.list, all filters',
      run: (ctx) =>
        listDeployments(ctx, {
          limit,
          appId,
          environmentId,
          serverId,
          state: 'live',
          search: 'a',
          ...authors,
          ...dates,
        }),
    },
    { name: 'deployment.listFilters', run: (ctx) => listDeploymentFilters(ctx) },
    { name: 'server.list', run: (ctx) => listServers(ctx, { limit, sort: 'state' }) },
    { name: 'audit.list', run: (ctx) => listAudit(ctx, { limit }) },
    { name: 'audit.list, search', run: (ctx) => listAudit(ctx, { limit, search: 'billing' }) },
    { name: 'audit.list, search without results', run: (ctx) => listAudit(ctx, { limit, search: 'no such text' }) },
    { name: 'audit.list, action', run: (ctx) => listAudit(ctx, { limit, action: 'deployment.rollback' }) },
    { name: 'audit.list, unknown action', run: (ctx) => listAudit(ctx, { limit, action: 'secret.reveal' }) },
    { name: 'audit.list, actor', run: (ctx) => listAudit(ctx, { limit, actorId: userId }) },
    { name: 'audit.list, target', run: (ctx) => listAudit(ctx, { limit, targetId: deployment.id }) },
    { name: 'audit.list, dates', run: (ctx) => listAudit(ctx, { limit, ...dates }) },
  ];
}

function within<T>({ database, organizationId, userId }: Target, run: (ctx: Ctx) => Promise<T>): Promise<T> {
  return database.tenant(organizationId, (tx) =>
    run({ tx, organizationId, clock: systemClock, log: quiet, actor: { kind: 'member', userId, role: 'owner' } }),
  );
}

async function ownerOf(url: string, organizationId: string): Promise<string> {
  const rows = await loadInSystemScope(url, 'perf: the owner', (loader) =>
    loader.query<{ user_id: string }>('SELECT user_id FROM member WHERE organization_id = $1 AND role = $2', [
      organizationId,
      'owner',
    ]),
  );
  const owner = rows[0]?.user_id;
  if (owner === undefined) throw new Error('the scenario has no owner');
  return owner;
}
