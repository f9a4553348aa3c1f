// The scenario to look at: a small team, three servers, eight apps with a month of deployments, charts in all ranges and a
// few benchmarks, in the first organization of the installation. Pretty data, small enough to load in seconds.
import type { CopyRow, Loader } from '@fairlead/db/copy';
import { makeBenchmark } from './benchmarks.ts';
import { AppCurve, ServerCurve } from './curves.ts';
import {
  appRow,
  domainRows,
  type Home,
  instanceRow,
  makeApp,
  makeMachine,
  makePerson,
  memberRow,
  placementRow,
  placementServerRow,
} from './fleet.ts';
import { makeHistory } from './history.ts';
import { chain, loadMetrics, loadRows, type Note } from './loading.ts';
import { storeLog } from './logs.ts';
import { createRandom } from './random.ts';
import { people } from './words.ts';

const domain = 'demo.example.test';
const serverNames = ['fra-1', 'fra-2', 'iad-1'] as const;
const apps = [
  { name: 'Storefront', requestsPerSecond: 84, deployments: 34 },
  { name: 'Checkout API', requestsPerSecond: 41, deployments: 27 },
  { name: 'Search', requestsPerSecond: 62, deployments: 19 },
  { name: 'Image Resizer', requestsPerSecond: 23, deployments: 11 },
  { name: 'Account Portal', requestsPerSecond: 12, deployments: 16 },
  { name: 'Webhooks', requestsPerSecond: 7, deployments: 9 },
  { name: 'Status Page', requestsPerSecond: 3, deployments: 6 },
  { name: 'Internal Admin', requestsPerSecond: 0.6, deployments: 13 },
] as const;

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Time after the load in which the apps still have requests, so that a look at the demo shows current figures. */
const liveMs = 3 * minuteMs;

export interface DemoWish {
  readonly home: Home;
  readonly now: Date;
  /** Folder for build logs; null leaves them out. */
  readonly logStoreDir: string | null;
  /** Adds team mates. Not before the owner: an organization with members counts as claimed. */
  readonly withTeam: boolean;
}

export async function loadDemo(
  loader: Loader,
  { home, now, logStoreDir, withTeam }: DemoWish,
  note: Note,
): Promise<void> {
  const random = createRandom(8);
  const { organizationId } = home;
  const persons = people.slice(0, 5).map((name) => makePerson(name, domain));
  const authors = persons.map(({ person }) => person);
  const team = withTeam ? authors : [];
  const machines = serverNames.map((name) =>
    makeMachine(random, { name, domain, organizationId, isOnline: true, isTroubled: name === 'iad-1', now }),
  );
  const made = apps.map((wish, index) => {
    const app = makeApp({
      name: wish.name,
      home,
      serverId: machines[index % machines.length]?.machine.serverId ?? '',
      branch: 'main',
      domain,
      createdAt: new Date(now.getTime() - (30 + index) * dayMs),
    });
    const history = makeHistory(random, {
      app,
      count: wish.deployments,
      from: new Date(now.getTime() - 30 * dayMs),
      until: new Date(now.getTime() - (5 + index * 9) * minuteMs),
      people: authors,
      actors: team,
    });
    return { app, history, curve: new AppCurve(random, app, wish.requestsPerSecond, now) };
  });
  await loadRows(
    loader,
    {
      users: withTeam ? persons.map(({ row }) => row) : [],
      members: team.map(({ userId }, index) => memberRow(organizationId, userId, index === 0 ? 'admin' : 'developer')),
      servers: machines.map(({ row }) => row),
      apps: made.map(({ app }) => appRow(app, 'demo')),
      placements: made.map(({ app }) => placementRow(app)),
      placementServers: made.map(({ app, history }) => placementServerRow(app, history.live?.releaseId ?? null)),
      domains: made.flatMap(({ app }) => domainRows(app)),
      instances: made.flatMap(({ app, history: { live } }) => (live ? [instanceRow(random, app, live, now)] : [])),
      histories: made.map(({ history }) => history),
      benchmarks: made.slice(0, 4).flatMap(({ app, history }, index) =>
        [1, 6].map((day, back) => {
          const at = new Date(now.getTime() - (day + index / 3) * dayMs);
          return makeBenchmark(
            random,
            app,
            history.releases.at(-1 - back),
            at,
            withTeam ? random.pick(team).userId : null,
          );
        }),
      ),
    },
    note,
  );
  if (logStoreDir !== null) {
    const chunks: CopyRow[] = [];
    for (const { app, history } of made) {
      for (const deployment of history.deployments) {
        const chunk = await storeLog(random, logStoreDir, app, deployment);
        if (chunk !== null) chunks.push(chunk);
      }
    }
    note(`log_chunk          ${String(await loader.load('log_chunk', chunks)).padStart(8)} rows`);
  }

  const week = new Date(now.getTime() - 7 * dayMs);
  const ranges = [
    { suffix: '1h', stepMs: hourMs, from: week, until: now },
    { suffix: '1m', stepMs: minuteMs, from: week, until: now },
    { suffix: '1s', stepMs: secondMs, from: new Date(now.getTime() - hourMs), until: new Date(now.getTime() + liveMs) },
  ] as const;
  const serverCurves = machines.map(({ machine }) => new ServerCurve(random, organizationId, machine));
  await loadMetrics(
    loader,
    ranges.flatMap(({ suffix, stepMs, from, until }) => [
      {
        table: `metric.server_${suffix}` as const,
        rows: chain(serverCurves.map((it) => it.rows({ from, until, stepMs }))),
      },
      {
        table: `metric.app_${suffix}` as const,
        rows: chain(made.map(({ curve }) => curve.rows({ from, until, stepMs }))),
      },
    ]),
    week,
    note,
  );
}
