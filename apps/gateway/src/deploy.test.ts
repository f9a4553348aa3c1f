// Tests of a deployment across the control plane and an agent: request, build, rollout, live.
import { create, fromBinary } from '@bufbuild/protobuf';
import {
  BuildStatusSchema,
  type DesiredState,
  DesiredStateSchema,
  RolloutStatusSchema,
  StepState,
  WorkState,
} from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { advanceDeployment, createDeployment, getDeployment } from '@fairlead/core/deployment';
import { type Ctx, systemClock } from '@fairlead/core/kernel';
import type { OpenFakeLink } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from './testing.ts';

let gateway: TestGateway;
let link: OpenFakeLink;
let reportId = 0n;
beforeAll(async () => {
  gateway = await startTestGateway();
  const agent = await gateway.knownAgent();
  link = await agent.connect(gateway.rows.serverId);
});
afterAll(async () => {
  await link.close();
  await gateway.close();
});

function inOrganization<T>(work: (ctx: Ctx) => Promise<T>): Promise<T> {
  const organizationId = parseId('org', gateway.rows.organizationId);
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  return gateway.db.database.tenant(organizationId, (tx) =>
    work({ tx, organizationId, actor: { kind: 'system', reason: 'test' }, clock: systemClock, log }),
  );
}

async function startDeployment(): Promise<string> {
  const { deploymentId } = await inOrganization((ctx) =>
    createDeployment(ctx, { appId: parseId('app', gateway.rows.appId) }),
  );
  await inOrganization((ctx) => advanceDeployment(ctx, { deploymentId, workerId: 'test' }));
  return deploymentId;
}

/** Returns the next desired state after the agent was notified of a new version. */
async function nextState(): Promise<DesiredState> {
  const { version } = await link.next('desired');
  link.send({ case: 'sync', value: {} });
  const state = fromBinary(DesiredStateSchema, (await link.next('state')).state);
  expect(state.version).toEqual(version);
  return state;
}

async function report(
  part: Omit<Extract<Parameters<OpenFakeLink['send']>[0], { case: 'report' }>['value'], '$typeName'>,
) {
  reportId += 1n;
  link.send({ case: 'report', value: { reportId, ...part } });
  for (let acked = 0n; acked < reportId; ) acked = (await link.next('reportAck')).reportId;
}

function stateOf(deploymentId: string) {
  return inOrganization((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));
}

test('a successful build becomes a candidate, and a successful rollout goes live', async () => {
  const { appId } = gateway.rows;
  const deploymentId = await startDeployment();
  const building = await nextState();
  expect(building.builds).toMatchObject([{ deploymentId, appId, ref: 'main' }]);

  const done = { state: StepState.DONE, startedUnixMs: 1n, finishedUnixMs: 2n };
  const built = create(BuildStatusSchema, {
    deploymentId,
    state: WorkState.SUCCEEDED,
    steps: [
      { name: 'clone', ...done },
      { name: 'build', ...done },
      { name: 'pack', ...done },
    ],
    commit: { hash: 'ab'.repeat(20), subject: 'Say hej', author: 'Ada', committedUnixMs: 1n },
    artifact: {
      digest: `sha256:${'cd'.repeat(32)}`,
      sizeBytes: 9n,
      runtime: 'node',
      command: ['node', 'server.js'],
      expectedVariables: ['API_TOKEN', 'PORT', 'lower case'],
    },
  });
  await report({ builds: [built] });
  const rolling = await nextState();
  expect(rolling.builds).toEqual([]);
  const candidate = rolling.apps.find((app) => app.appId === appId)?.candidate;
  expect(candidate).toMatchObject({ deploymentId, release: { artifactDigest: `sha256:${'cd'.repeat(32)}` } });

  const rolledOut = create(RolloutStatusSchema, { deploymentId, state: WorkState.SUCCEEDED });
  await report({ rollouts: [rolledOut], builds: [built] });
  const live = (await nextState()).apps.find((app) => app.appId === appId);
  expect(live?.candidate).toBeUndefined();
  expect(live?.live?.releaseId).toBe(candidate?.release?.releaseId);
  expect(await stateOf(deploymentId)).toMatchObject({
    state: 'live',
    commitSubject: 'Say hej',
    missingNames: ['API_TOKEN'],
  });
});

test('a failed build leaves the live release alone and reports the reason', async () => {
  const deploymentId = await startDeployment();
  const before = await nextState();
  const message = '`npm run build` ended with status 1. The last lines of the log say why.';
  const failed = create(BuildStatusSchema, {
    deploymentId,
    state: WorkState.FAILED,
    failure: { code: 'build.command_failed', message },
  });
  await report({ builds: [failed] });
  const after = await nextState();
  expect(after.builds).toEqual([]);
  expect(after.apps).toEqual(before.apps);
  expect(await stateOf(deploymentId)).toMatchObject({ state: 'failed' });
  expect(JSON.stringify(await stateOf(deploymentId))).toContain(message);
});
