// The scenario of realistic size: 50 servers, 500 apps, 20,000 deployments and a week of metrics, in an organization of its
// own. Minutes for 20 apps and all servers, hours for all. Lists and charts are measured against it (e2e/perf).
import { newId } from '@fairlead/contract/ids';
import type { CopyRow, Loader } from '@fairlead/db/copy';
import { makeBenchmark } from './benchmarks.ts';
import { AppCurve, ServerCurve } from './curves.ts';
import {
  appRow,
  domainRows,
  type Home,
  instanceRow,
  type Machine,
  makeApp,
  makeMachine,
  makePerson,
  memberRow,
  placementRow,
  placementServerRow,
  type SeedApp,
} from './fleet.ts';
import { type History, makeHistory } from './history.ts';
import { chain, loadMetrics, loadRows, type Note } from './loading.ts';
import { createRandom, type Random } from './random.ts';
import { appKinds, appSubjects, branches, people, projectNames, regions, slugOf } from './words.ts';

export const largeSlug = 'large';
export const largeDomain = 'large.example.test';
const serverCount = 50;
const deploymentCount = 20_000;
const busyAppCount = 20;
const benchmarkCount = 120;
const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const historyDays = 180;

/** Makes the organization and all of its rows; returns its id. Throws if it exists. */
export async function loadLarge(loader: Loader, now: Date, note: Note): Promise<string> {
  const random = createRandom(20_000);
  const { organizationId, homes } = await makeOrganization(loader, now);
  const persons = people.map((name) => makePerson(name, largeDomain));
  const staff = persons.map(({ person }) => person);
  const machines = Array.from({ length: serverCount }, (_, index) =>
    makeMachine(random, {
      name: `${regions[index % regions.length]}-${String(Math.floor(index / regions.length) + 1).padStart(2, '0')}`,
      domain: largeDomain,
      organizationId,
      isOnline: index % 17 !== 13,
      now,
    }),
  );
  const apps = makeApps(
    random,
    homes,
    machines.map(({ machine }) => machine),
    now,
  );
  const counts = deploymentCounts(random, apps.length);
  const histories: History[] = apps.map((app, index) =>
    makeHistory(random, {
      app,
      count: counts[index] ?? 1,
      from: app.createdAt,
      until: new Date(now.getTime() - 15 * minuteMs),
      people: staff,
      actors: staff,
    }),
  );
  await loadRows(
    loader,
    {
      users: persons.map(({ row }) => row),
      members: staff.map(({ userId }, index) =>
        memberRow(organizationId, userId, index === 0 ? 'admin' : index % 4 === 3 ? 'viewer' : 'developer'),
      ),
      servers: machines.map(({ row }) => row),
      apps: apps.map((app) => appRow(app, largeSlug)),
      placements: apps.map(placementRow),
      placementServers: apps.map((app, index) => placementServerRow(app, histories[index]?.live?.releaseId ?? null)),
      domains: apps.flatMap(domainRows),
      instances: apps.flatMap((app, index) => {
        const live = histories[index]?.live;
        return live ? [instanceRow(random, app, live, now)] : [];
      }),
      histories,
      auditEvents: auditEvents(random, organizationId, histories),
      benchmarks: Array.from({ length: benchmarkCount }, () => {
        const at = new Date(now.getTime() - random.between(0.02, 60) * dayMs);
        const app = random.pick(apps);
        const release = histories[apps.indexOf(app)]?.releases.at(-1);
        return makeBenchmark(random, app, release, at, random.pick(staff).userId);
      }),
    },
    note,
  );
  await loadCurves(
    loader,
    { random, organizationId, apps, machines: machines.map(({ machine }) => machine), now },
    note,
  );
  return organizationId;
}

interface Made {
  readonly organizationId: string;
  readonly homes: readonly Home[];
}

async function makeOrganization(loader: Loader, now: Date): Promise<Made> {
  const organizationId = newId('org');
  const createdAt = new Date(now.getTime() - 400 * dayMs);
  const projects = projectNames.map((name) => ({ projectId: newId('prj'), environmentId: newId('env'), name }));
  const common = { organization_id: organizationId, created_at: createdAt };
  // Younger than any organization of a first start, so that it never counts as the first.
  await loader.load('organization', [{ id: organizationId, name: 'Large', slug: largeSlug, created_at: now }]);
  await loader.load(
    'project',
    projects.map(({ projectId, name }): CopyRow => ({ ...common, id: projectId, name, slug: slugOf(name) })),
  );
  await loader.load(
    'environment',
    projects.map(
      ({ projectId, environmentId }): CopyRow => ({
        ...common,
        id: environmentId,
        project_id: projectId,
        name: 'Production',
        slug: 'production',
      }),
    ),
  );
  return {
    organizationId,
    homes: projects.map(({ projectId, environmentId }) => ({ organizationId, projectId, environmentId })),
  };
}

function makeApps(random: Random, homes: readonly Home[], machines: readonly Machine[], now: Date): readonly SeedApp[] {
  return appSubjects.flatMap((subject, subjectIndex) =>
    appKinds.map((kind) => {
      const home = homes[subjectIndex % homes.length];
      if (home === undefined) throw new RangeError('a scenario needs a project');
      return makeApp({
        name: `${subject} ${kind}`,
        home,
        serverId: random.pick(machines).serverId,
        branch: random.pick(branches),
        domain: largeDomain,
        createdAt: new Date(now.getTime() - random.between(20, historyDays) * dayMs),
      });
    }),
  );
}

/** One event for each deployment that a member requested. */
function auditEvents(random: Random, organizationId: string, histories: readonly History[]): readonly CopyRow[] {
  const requested = histories
    .flatMap(({ deployments }) => deployments)
    .toSorted((one, other) => one.queuedAt.getTime() - other.queuedAt.getTime());
  return requested.map(({ deploymentId, appName, queuedAt, requesterUserId, row }) => ({
    id: newId('aud'),
    organization_id: organizationId,
    at: queuedAt,
    actor_kind: requesterUserId === null ? 'system' : 'member',
    actor_id: requesterUserId ?? 'push',
    actor_user_id: requesterUserId,
    ip: requesterUserId === null ? null : `198.51.100.${random.int(1, 254)}`,
    action: row.trigger === 'rollback' ? 'deployment.rollback' : 'deployment.create',
    target_kind: 'deployment',
    target_id: deploymentId,
    target_label: `${appName} #${row.number}`,
    after: JSON.stringify({ appId: row.app_id, environmentId: row.environment_id, ref: row.ref }),
  }));
}

/** A few apps are deployed all the time, most now and then. The numbers add up to exactly `deploymentCount`. */
function deploymentCounts(random: Random, appCount: number): readonly number[] {
  const weights = Array.from({ length: appCount }, () => random.next() ** 2 + 0.02);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const counts = weights.map((weight) => Math.max(1, Math.floor((weight / total) * deploymentCount)));
  let missing = deploymentCount - counts.reduce((sum, count) => sum + count, 0);
  for (let index = 0; missing !== 0; index = (index + 1) % appCount) {
    const count = counts[index] ?? 0;
    const change = missing > 0 ? 1 : count > 1 ? -1 : 0;
    counts[index] = count + change;
    missing -= change;
  }
  return counts;
}

interface CurvesWish {
  readonly random: Random;
  readonly organizationId: string;
  readonly apps: readonly SeedApp[];
  readonly machines: readonly Machine[];
  readonly now: Date;
}

async function loadCurves(loader: Loader, wish: CurvesWish, note: Note): Promise<void> {
  const { random, organizationId, apps, machines, now } = wish;
  const from = new Date(now.getTime() - 7 * dayMs);
  const minutes = { from, until: now, stepMs: minuteMs };
  const hours = { from, until: now, stepMs: hourMs };
  const appCurves = apps.map((app, index) => {
    const isBusy = index % (apps.length / busyAppCount) === 0;
    return { isBusy, curve: new AppCurve(random, app, isBusy ? random.between(4, 60) : random.between(0.05, 3), now) };
  });
  const serverCurves = machines.map((machine) => new ServerCurve(random, organizationId, machine));
  const busy = appCurves.filter(({ isBusy }) => isBusy);
  await loadMetrics(
    loader,
    [
      { table: 'metric.server_1h', rows: chain(serverCurves.map((curve) => curve.rows(hours))) },
      { table: 'metric.server_1m', rows: chain(serverCurves.map((curve) => curve.rows(minutes))) },
      { table: 'metric.app_1h', rows: chain(appCurves.map(({ curve }) => curve.rows(hours))) },
      { table: 'metric.app_1m', rows: chain(busy.map(({ curve }) => curve.rows(minutes))) },
    ],
    from,
    note,
  );
}
