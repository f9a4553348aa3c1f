import { listApps } from '@fairlead/core/app';
import { listBenchmarks } from '@fairlead/core/benchmark';
import { listDeployments } from '@fairlead/core/deployment';
import { listDomains } from '@fairlead/core/domain';
import { listMembers } from '@fairlead/core/member';
import * as metric from '@fairlead/core/metric';
import { getOverview } from '@fairlead/core/overview';
import { listReleases } from '@fairlead/core/release';
import { listServers } from '@fairlead/core/server';
import { createDatabase } from '@fairlead/db';

const db = createDatabase({ url: process.env.DATABASE_URL!, poolMax: 4, applicationName: 'bench' });
await db.assertSafe();
const org = await db.system('x', (tx) => tx.organization.findUniqueOrThrow({ where: { slug: 'large' } }));
const log = { debug() {}, info() {}, warn() {}, error() {} };
const app = await db.tenant(org.id, (tx) => tx.app.findFirstOrThrow({ where: { slug: 'accounts-api' } }));
const busiest = await db.tenant(
  org.id,
  (tx) => tx.$queryRaw<any[]>`select app_id from deployment group by 1 order by count(*) desc limit 1`,
);
const server = await db.tenant(org.id, (tx) => tx.server.findFirstOrThrow());
const page = { limit: 50 } as any;
const cases: Record<string, (ctx: any) => Promise<unknown>> = {
  apps: (c) => listApps(c, page),
  'apps search': (c) => listApps(c, { ...page, search: 'check' }),
  deployments: (c) => listDeployments(c, page),
  'deployments of app': (c) => listDeployments(c, { ...page, appId: busiest[0].app_id }),
  'deployments failed': (c) => listDeployments(c, { ...page, state: 'failed' }),
  'deployments building': (c) => listDeployments(c, { ...page, state: 'building' }),
  domains: (c) => listDomains(c, page),
  'domains search': (c) => listDomains(c, { ...page, search: 'check' }),
  servers: (c) => listServers(c),
  releases: (c) => listReleases(c, { ...page, appId: busiest[0].app_id }),
  benchmarks: (c) => listBenchmarks(c, page),
  members: (c) => (listMembers as any)(c, {}),
  overview: (c) => getOverview(c),
};
for (const range of ['15m', '1h', '24h', '7d']) {
  if ('getAppMetric' in metric)
    cases[`metric.app ${range}`] = (c) => (metric as any).getAppMetric(c, { appId: app.id, range });
  if ('getServerMetric' in metric)
    cases[`metric.server ${range}`] = (c) => (metric as any).getServerMetric(c, { serverId: server.id, range });
}
for (const [name, run] of Object.entries(cases)) {
  const times: number[] = [];
  try {
    let size = 0;
    for (let i = 0; i < 60; i++) {
      const t = performance.now();
      const r: any = await db.tenant(org.id, (tx) =>
        run({
          tx,
          organizationId: org.id,
          actor: { kind: 'member', userId: 'x', role: 'owner' },
          clock: { now: () => new Date() },
          log,
        }),
      );
      if (i >= 10) times.push(performance.now() - t);
      size = r?.items?.length ?? r?.points?.length ?? Object.keys(r).length;
    }
    times.sort((a, b) => a - b);
    console.log(name.padEnd(24), String(size).padStart(4), 'p50', times[25]!.toFixed(1), 'p95', times[47]!.toFixed(1));
  } catch (e) {
    console.log(name, String((e as Error).message).slice(0, 300));
  }
}
await db.close();
