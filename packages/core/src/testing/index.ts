// Test world: an organization with a connected server, a clock that tests move, and a simulated agent. PostgreSQL and
// all operations are real.
import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type BenchmarkRow,
  BenchmarkRowSchema,
  type BuildStatus,
  BuildStatusSchema,
  type Report,
  ReportSchema,
  type RolloutStatus,
  RolloutStatusSchema,
  WorkState,
} from '@fairlead/contract/agent';
import type { Capability } from '@fairlead/contract/capabilities';
import { type AppId, type EnvironmentId, newId, type OrganizationId, type ServerId } from '@fairlead/contract/ids';
import type { Database } from '@fairlead/db';
import { addEnvironment, addEnvironmentInputSchema, createApp, createAppInputSchema } from '../app/index.ts';
import { advanceDeployment } from '../deployment/index.ts';
import { prepareDesiredState, type RenderInput } from '../desired-state/index.ts';
import { domainUrl } from '../domain/index.ts';
import { type Clock, type Ctx, forOrganization, type Log, type SystemCtx } from '../kernel/index.ts';
import { recordReport } from '../link/index.ts';
import { insertProject } from '../project/index.ts';
import {
  createSecretKeys,
  createSecretSealer,
  type KeyWrapper,
  openEnvelope,
  type SecretKeys,
  sealEnvelope,
} from '../secret/index.ts';
import { createFirstOrganization } from '../setup/index.ts';

export { importableDocument } from './benchmark-document.ts';
export { makeChain, type TestChain, type TestChainOptions } from './chain.ts';
export { auditEventsOf, auditOf, rolesOf, type TestPerson, testAccount, testPerson } from './people.ts';
export { untilBlocked } from './until-blocked.ts';

export interface TestClock extends Clock {
  forward(ms: number): void;
}

/** Starts at a whole second of the running day: partitions of metrics exist around it. */
export function testClock(): TestClock {
  let ms = Math.floor(Date.now() / 1000) * 1000;
  return {
    now: () => new Date(ms),
    forward: (by) => {
      ms += by;
    },
  };
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface TestWorld {
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  readonly serverId: ServerId;
  readonly clock: TestClock;
  readonly keys: SecretKeys;
  /** As an owner of the organization, in one transaction. */
  tenant<T>(run: (ctx: Ctx) => Promise<T>): Promise<T>;
  system<T>(run: (ctx: SystemCtx) => Promise<T>): Promise<T>;
  createApp(name: string, changes?: { host?: string; deployNow?: boolean; branch?: string }): Promise<CreatedTestApp>;
  /** Adds the app to a new environment of that name, or to that with the id, without a deployment. */
  addEnvironment(
    appId: AppId,
    environment: { readonly name: string } | { readonly environmentId: EnvironmentId },
    changes?: { readonly serverIds?: readonly string[]; readonly branch?: string },
  ): Promise<EnvironmentId>;
  /** Runs the worker's job of the deployment. */
  advance(deploymentId: string, workerId?: string): Promise<void>;
  report(
    report: Partial<Pick<Report, 'builds' | 'rollouts' | 'instances' | 'benchmarks' | 'agent' | 'uninstall'>>,
  ): Promise<void>;
  /** Builds and rolls out as a healthy agent reports it. */
  finish(deploymentId: string): Promise<void>;
  /** Default: the state of the local server. */
  desired(serverId?: ServerId): ReturnType<typeof prepareDesiredState>;
}

export interface CreatedTestApp {
  readonly appId: AppId;
  readonly slug: string;
  readonly deploymentId: string | null;
}

/** `name` distinguishes organizations of one database. */
export async function testWorld(database: Database, name = 'acme', clock = testClock()): Promise<TestWorld> {
  const system = <T>(run: (ctx: SystemCtx) => Promise<T>): Promise<T> =>
    database.system('a test', (tx) => run({ tx, clock, log: silentLog }));
  const { organizationId, slug } = await system(async (ctx) => {
    const first = await createFirstOrganization(ctx, { name });
    return first.created ? first : otherOrganization(ctx, name);
  });
  const userId = newId('usr');
  const serverId = newId('srv');
  await system(async ({ tx }) => {
    await tx.user.create({ data: { id: userId, name: `Owner of ${name}`, email: `owner@${slug}.example.test` } });
    await tx.member.create({ data: { id: newId('mem'), organizationId, userId, role: 'owner' } });
    await tx.server.create({
      data: {
        id: serverId,
        organizationId,
        name: 'local',
        publicKey: new Uint8Array(32),
        isLocal: true,
        capabilities: [
          ...(['inspect', 'benchmark', 'benchmark.grpc', 'benchmark.http3', 'benchmark.lab'] satisfies Capability[]),
          ...(['benchmark.lab_release', 'benchmark.latency', 'benchmark.load'] satisfies Capability[]),
          ...(['benchmark.godoxy', 'benchmark.scenarios', 'benchmark.workers'] satisfies Capability[]),
        ],
        connectedGateway: 'test-gateway',
        connectedAt: clock.now(),
        lastSeenAt: clock.now(),
      },
    });
  });
  const tenant = <T>(run: (ctx: Ctx) => Promise<T>): Promise<T> =>
    database.tenant(organizationId, (tx) =>
      run({ tx, organizationId, clock, log: silentLog, actor: { kind: 'member', userId, role: 'owner' } }),
    );
  const report: TestWorld['report'] = (parts) =>
    system((ctx) => recordReport(ctx, { serverId, report: create(ReportSchema, parts) }));

  const keys = createSecretKeys(testWrapper());
  const sealer = createSecretSealer(keys);

  return {
    organizationId,
    organizationSlug: slug,
    serverId,
    clock,
    keys,
    tenant,
    system,
    createApp: (appName, changes = {}) =>
      tenant(async (ctx) => {
        const { host, deployNow = true, branch = 'main' } = changes;
        const input = createAppInputSchema.parse({
          name: appName,
          source: { kind: 'git', repositoryUrl: 'https://git.example.test/shop.git', branch },
          serverIds: [serverId],
          domain: host === undefined ? undefined : { host },
          firstDeploy: deployNow ? 'deploy' : 'none',
        });
        const { id, slug: appSlug, deploymentId } = await createApp(ctx, input, { hosts: testHosts, keys });
        return { appId: id, slug: appSlug, deploymentId };
      }),
    addEnvironment: (appId, environment, changes = {}) =>
      tenant(async (ctx) => {
        const input = addEnvironmentInputSchema.parse({
          appId,
          environment: { kind: 'name' in environment ? 'new' : 'existing', ...environment },
          serverIds: [serverId],
          firstDeploy: 'none',
          ...changes,
        });
        return (await addEnvironment(ctx, input, testHosts)).environmentId;
      }),
    advance: (deploymentId, workerId = 'worker-1') =>
      tenant((ctx) => advanceDeployment(ctx, { deploymentId, workerId })),
    report,
    finish: async (deploymentId) => {
      await report({ builds: [builtStatus(deploymentId)] });
      await report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
    },
    desired: (of = serverId) => prepareDesiredState(system, { serverId: of, sealer, urlOf: testUrl }),
  };
}

/** No host is reserved. */
export const testHosts = { localHttpsPort: 4443, localHttpPort: 4480, controlHost: '', publicHost: '' };

export const testUrl: RenderInput['urlOf'] = (route, onLocalServer) => domainUrl(route, onLocalServer, testHosts);

export const commitHash = '0123456789abcdef0123456789abcdef01234567';

export interface BuiltChanges {
  readonly branch?: string;
  readonly digest?: string;
  readonly command?: string[];
  readonly expectedVariables?: string[];
  /** Content of fairlead.bench.json; empty: none. */
  readonly benchmarkPlan?: string;
}

export function builtStatus(deploymentId: string, changes: BuiltChanges = {}): BuildStatus {
  return create(BuildStatusSchema, {
    deploymentId,
    state: WorkState.SUCCEEDED,
    commit: {
      hash: commitHash,
      subject: 'Open the shop',
      author: 'Ada',
      committedUnixMs: 1_700_000_000_000n,
      branch: changes.branch ?? 'main',
    },
    artifact: {
      digest: changes.digest ?? `sha256:${'a'.repeat(64)}`,
      sizeBytes: 4096n,
      runtime: 'node',
      command: changes.command ?? ['node', 'server.js'],
      expectedVariables: changes.expectedVariables ?? [],
      ...(changes.benchmarkPlan === undefined ? {} : { benchmarkPlan: changes.benchmarkPlan }),
    },
  });
}

export function buildStatus(
  deploymentId: string,
  state: WorkState,
  failure?: { code: string; message: string },
): BuildStatus {
  return create(BuildStatusSchema, { deploymentId, state, ...(failure === undefined ? {} : { failure }) });
}

export function rolloutStatus(
  deploymentId: string,
  state: WorkState,
  failure?: { code: string; message: string },
): RolloutStatus {
  return create(RolloutStatusSchema, { deploymentId, state, ...(failure === undefined ? {} : { failure }) });
}

/** A measured round of a benchmark gate. */
export function gateRow(counts: { readonly requests: bigint; readonly errors: bigint }): BenchmarkRow {
  return create(BenchmarkRowSchema, { concurrency: 8, durationMs: 1000, ...counts });
}

/** A master key in memory, as a key management service would hold it. */
export function testWrapper(): KeyWrapper {
  const key = { id: 'mst_test', bytes: randomBytes(32) };
  return {
    keyId: () => Promise.resolve(key.id),
    wrap: (place, plain) => Promise.resolve({ keyId: key.id, wrapped: sealEnvelope(key, place, plain) }),
    unwrap: (place, { wrapped }) => Promise.resolve(openEnvelope(key, place, wrapped)),
  };
}

async function otherOrganization(ctx: SystemCtx, name: string) {
  const organizationId = newId('org');
  await ctx.tx.organization.create({ data: { id: organizationId, name, slug: name } });
  await insertProject(forOrganization(ctx, organizationId), { name: 'Default', slug: 'default' });
  return { organizationId, slug: name };
}

export { releaseSigner, type SignedRelease, signedRelease } from './signed-release.ts';
export { wholeAttention, wholeOverview } from './whole-overview.ts';
