// Deploys one app, sends it requests, and deletes it. Decides if the app is really live.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { AppId, DeploymentId } from '@fairlead/contract/ids';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { CONTROL_HOST } from '../../tools/start/control-plane.ts';
import type { System } from '../system/harness/system.ts';
import { commandLines, developmentServer, developmentServerOfHeader } from './development-servers.ts';
import { ask, faultOf, type Origin, pathOf } from './exchange.ts';
import { type App, type ExampleApp, type Exchange, type LivingApp, nameOf } from './real-app.ts';
import { type Refusal, refusedConnections } from './refused-connections.ts';
import { sourceOf } from './source.ts';
import { type Outcome, outcomeOf } from './verdict.ts';

export interface RunOptions {
  readonly mirrorFolder: string | undefined;
  readonly healthySeconds: number;
}

export interface AppResult {
  readonly app: App;
  readonly name: string;
  readonly outcome: Outcome;
  readonly state: string;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly problems: readonly string[];
  readonly refusals: readonly Refusal[];
  /** Decisions of the builder, one sentence each. */
  readonly plan: readonly string[];
  /** Command lines of the processes of a live app. */
  readonly processes: readonly string[];
  readonly durationsMs: Readonly<Record<string, number>>;
  /** End of the log, unless the app is live. */
  readonly log: readonly string[];
}

const DEPLOY_TIMEOUT_MS = 30 * 60_000;
const LOG_LINES_KEPT = 40;
const REACH_TIMEOUT_MS = 5000;

/** Rest of the check of a deployed app: waits, sends the first request again, and deletes the app. */
export type Watch = () => Promise<AppResult>;

/** Deploys one app and sends it requests. Throws only if the check itself fails; faults of the app or the product are in the result. */
export async function deployApp(system: System, app: App, index: number, options: RunOptions): Promise<Watch> {
  const name = nameOf(app);
  const durationsMs: Record<string, number> = {};
  const timed = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const result = await work();
    durationsMs[step] = Math.round(performance.now() - startedAt);
    return result;
  };
  const { appId, slug } = await timed('fetch', () => beginApp(system, app, index, options));
  const removed = () => system.product.verbs.purgeApp({ appId });
  const orRemoved = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      await removed();
      throw error;
    }
  };
  return orRemoved(async () => {
    const { deploymentId } = await system.product.verbs.createDeployment({ appId });
    const deployment = await timed('deploy', () => finish(system, deploymentId));
    for (const step of deployment.steps)
      if (step.durationMs !== null) durationsMs[`deploy.${step.name}`] = step.durationMs;
    const { state, failureCode, failureMessage, plan } = deployment;
    const problems: string[] = [];
    const processes: string[] = [];
    const living = state === 'live' && !('fails' in app) ? app : undefined;
    if (living !== undefined) {
      const runtimeProblem = 'example' in living ? await otherRuntime(system, appId, living.runtime) : undefined;
      if (runtimeProblem !== undefined) problems.push(runtimeProblem);
      await timed('ask', () => examine(system, living, slug, problems, processes));
    }
    return () =>
      orRemoved(async () => {
        if (living !== undefined) await staysHealthy(system, living, slug, options, problems);
        const log = state === 'live' && problems.length === 0 ? [] : await system.log(deploymentId);
        const refusals = await unreachable(refusedConnections(log));
        const outcome = outcomeOf(app, { state, failureCode, failureMessage, problems, refusals });
        await removed();
        const kept = log.slice(-LOG_LINES_KEPT);
        return {
          ...{ app, name, outcome, state, failureCode, failureMessage, problems, refusals, plan, processes },
          durationsMs,
          log: kept,
        };
      });
  });
}

/** Fetches the repository and creates the app, which is not deployed yet. */
export async function beginApp(
  system: System,
  app: App,
  index: number,
  { mirrorFolder }: RunOptions,
): Promise<{ readonly appId: AppId; readonly slug: string }> {
  const slug = slugOf(app, index);
  const repository = await ('example' in app
    ? system.repositories.createExample(slug, app.example)
    : system.repositories.copy(slug, sourceOf(app.repository, mirrorFolder), app.commit));
  return { appId: await create(system, app, slug, repository.url), slug };
}

async function create(system: System, app: App, slug: string, repositoryUrl: string): Promise<AppId> {
  const { id: appId } = await system.product.verbs.createApp(
    {
      name: slug,
      source: { kind: 'git', repositoryUrl, branch: 'main', rootFolder: app.rootFolder ?? '' },
      healthPath: 'example' in app ? (app.healthPath ?? '') : '',
      serverIds: [await system.serverId()],
      domain: { host: `${slug}.localhost` },
      firstDeploy: 'none',
    },
    { controlHost: CONTROL_HOST, publicHost: '' },
  );
  if (!('fails' in app) && app.settings !== undefined)
    await system.product.verbs.updateConfig({ appId, settings: app.settings });
  return appId;
}

async function otherRuntime(system: System, appId: AppId, expected: string): Promise<string | undefined> {
  const { items } = await system.product.verbs.listReleases({ appId, limit: 1 });
  const runtime = items[0]?.runtime;
  return runtime === expected ? undefined : `Its runtime is ${runtime} instead of ${expected}.`;
}

async function finish(system: System, deploymentId: DeploymentId): Promise<DeploymentDetail> {
  try {
    return await system.waitForDeployment(deploymentId, DEPLOY_TIMEOUT_MS);
  } catch {
    // A deployment that never ends must not block the next one.
    await system.product.verbs.cancelDeployment({ deploymentId });
    return system.waitForDeployment(deploymentId);
  }
}

/** Sends requests to a live app; adds faults to `problems` and command lines to `processes`. */
async function examine(
  system: System,
  app: LivingApp | ExampleApp,
  slug: string,
  problems: string[],
  processes: string[],
): Promise<void> {
  const origin = originOf(system, slug);
  const firstPage = await check(origin, app.first, '', problems);
  for (const exchange of app.second) await check(origin, exchange, firstPage, problems);
  const before = await instancesOf(system, slug);
  if (before.length === 0) problems.push('No instance of it runs.');
  for (const { pid } of before) {
    if (pid === null) continue;
    for (const argv of commandLines(pid)) {
      processes.push(argv.join(' '));
      const server = developmentServer(argv);
      if (server !== undefined) problems.push(`${server} is a development server.`);
    }
  }
}

/** Waits, then repeats the first request to a live app. */
async function staysHealthy(
  system: System,
  app: LivingApp | ExampleApp,
  slug: string,
  { healthySeconds }: RunOptions,
  problems: string[],
): Promise<void> {
  await delay(healthySeconds * 1000);
  for (const { state, detail } of await instancesOf(system, slug))
    if (state !== 'healthy') problems.push(`An instance is ${state} after ${healthySeconds} s: ${detail}`);
  const restarts = (await instancesOf(system, slug)).reduce((sum, each) => sum + each.restarts, 0);
  if (restarts > 0) problems.push(`Its instances were restarted ${restarts} times within ${healthySeconds} s.`);
  await check(originOf(system, slug), app.first, '', problems);
}

function originOf(system: System, slug: string): Origin {
  return { host: `${slug}.localhost`, port: system.ports.https, ca: readFileSync(system.caFile, 'utf8') };
}

async function instancesOf(system: System, slug: string) {
  return (await system.app(slug)).instances.filter(({ state }) => state !== 'stopped' && state !== 'draining');
}

/** Returns the body; empty without a response. */
async function check(origin: Origin, exchange: Exchange, firstPage: string, problems: string[]): Promise<string> {
  const path = pathOf(exchange, firstPage);
  if (path === undefined) {
    problems.push(`The first page has nothing like ${exchange.path}.`);
    return '';
  }
  try {
    const answer = await ask(origin, exchange, path);
    const fault = faultOf(exchange, path, answer);
    if (fault !== undefined) problems.push(fault);
    const server = developmentServerOfHeader(answer.headers.server?.toString());
    if (server !== undefined) problems.push(`${server} is a development server.`);
    return answer.body;
  } catch (error) {
    problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    return '';
  }
}

/** Drops hosts that this machine can reach: the product refused those, not the environment. */
async function unreachable(refusals: readonly Refusal[]): Promise<readonly Refusal[]> {
  const reached = await Promise.all(refusals.map(({ host }) => reaches(host)));
  return refusals.filter((_, index) => reached[index] === false);
}

function reaches(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 443, timeout: REACH_TIMEOUT_MS });
    const end = (reached: boolean) => {
      socket.destroy();
      resolve(reached);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

const SLUG_MAX = 40;

/** Returns a slug that no other entry has: one repository may be in the list with several root folders. */
function slugOf(app: App, index: number): string {
  const text = nameOf(app)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_MAX)
    .replace(/-+$/, '');
  return `${text}-${index + 1}`;
}
