// Sample app of the first start: deployed by the regular path (clone by URL, build, health check, route) and
// benchmarked through the proxy and directly. Each part resumes where an earlier start stopped.
import type { AppId, RunId, ServerId } from '@fairlead/contract/ids';
import type { AppDetail } from '@fairlead/core/app';
import type { BenchmarkDetail, BenchmarkPlan } from '@fairlead/core/benchmark';
import { plainPlan } from '@fairlead/core/benchmark/plan';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import type { HostPolicy } from '@fairlead/core/domain';
import { waitFor } from '../lib/wait.ts';
import type { Product } from './product.ts';
import { isMirror } from './source-mirror.ts';

export interface SampleOptions {
  readonly product: Product;
  readonly serverId: ServerId;
  readonly repositoryUrl: string;
  readonly branch: string;
  readonly hosts: HostPolicy;
  readonly signal: AbortSignal;
}

export const SAMPLE_HOST = 'hello.localhost';
const SAMPLE = { name: 'hello', rootFolder: 'examples/hello-node', healthPath: '/healthz' } as const;
const DEPLOY_TIMEOUT_MS = 180_000;
const BENCHMARK_TIMEOUT_MS = 90_000;

const PLAN: BenchmarkPlan = {
  host: SAMPLE_HOST,
  path: '/',
  targets: ['proxy', 'direct'],
  protocols: ['http1', 'http2'],
  concurrency: [16],
  repeats: 1,
  durationMs: 1500,
  warmupMs: 300,
  ...plainPlan,
  thresholds: [],
};

const UNFINISHED = new Set(['queued', 'building', 'releasing', 'rolling_out']);

async function findSample({ product }: SampleOptions): Promise<AppDetail | undefined> {
  const { items } = await product.verbs.listApps(
    { search: SAMPLE.name, limit: 50 },
    { localHttpsPort: 443, localHttpPort: 80 },
  );
  const found = items.find((app) => app.hosts.includes(SAMPLE_HOST) || app.slug === SAMPLE.name);
  return found && product.verbs.getApp({ slug: found.slug }, { localHttpsPort: 443, localHttpPort: 80 });
}

/**
 * Returns the newest deployment of the sample app once it has finished; creates app and deployment if there are none.
 */
export async function deploySample(options: SampleOptions, onState: (text: string) => void): Promise<DeploymentDetail> {
  const { product, serverId, repositoryUrl, branch, signal } = options;
  const existing = await findSample(options);
  let deploymentId = existing?.lastDeployment?.id;
  if (existing === undefined) {
    const created = await product.verbs.createApp(
      {
        name: SAMPLE.name,
        healthPath: SAMPLE.healthPath,
        source: { kind: 'git', repositoryUrl, branch, rootFolder: SAMPLE.rootFolder },
        serverIds: [serverId],
        domain: { host: SAMPLE_HOST },
      },
      options.hosts,
    );
    deploymentId = created.deploymentId ?? undefined;
  } else {
    // The port is an option and the name may be newer, so the URL may have changed.
    if (existing.repositoryUrl !== repositoryUrl && isMirror(existing.repositoryUrl)) {
      await product.verbs.updateApp({ appId: existing.id, repositoryUrl });
    }
    deploymentId ??= (await product.verbs.createDeployment({ appId: existing.id })).deploymentId;
  }
  if (deploymentId === undefined) throw new Error('the sample app was made without a deployment');
  const id = deploymentId;
  return waitFor(
    async () => {
      const deployment = await product.verbs.getDeployment({ deploymentId: id });
      const step = deployment.steps.find((candidate) => candidate.state === 'running')?.name;
      onState(step ?? deployment.state);
      return UNFINISHED.has(deployment.state) ? undefined : deployment;
    },
    { what: 'the deployment of the sample app', timeoutMs: DEPLOY_TIMEOUT_MS, everyMs: 150, signal },
  );
}

/** Returns the newest finished benchmark of the app; runs one if there is none. */
export async function measureSample(
  options: SampleOptions,
  appId: AppId,
  onRow: (text: string) => void,
): Promise<BenchmarkDetail> {
  const { product, signal } = options;
  const { items } = await product.verbs.listBenchmarks({ appId, limit: 20 });
  const known =
    items.find((run) => run.state === 'succeeded') ?? items.find((run) => ['queued', 'running'].includes(run.state));
  const runId: RunId = known?.id ?? (await product.verbs.createBenchmark({ appId, plan: PLAN })).runId;
  return waitFor(
    async () => {
      const run = await product.verbs.getBenchmark({ runId });
      onRow(`${run.rowsDone} of ${run.rowsTotal} rows`);
      return run.state === 'queued' || run.state === 'running' ? undefined : run;
    },
    { what: 'the benchmark of the sample app', timeoutMs: BENCHMARK_TIMEOUT_MS, everyMs: 200, signal },
  );
}
