// Tests of jobs with GitHub: what a report sends, and that failures and crashes lose and double nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkState } from '@fairlead/contract/agent';
import type { DeploymentId } from '@fairlead/contract/ids';
import { updateConfig } from '@fairlead/core/app';
import { createDeployment } from '@fairlead/core/deployment';
import { noteOnReport, recordRegistration } from '@fairlead/core/github';
import { forOrganization } from '@fairlead/core/kernel';
import { recordLogChunk } from '@fairlead/core/log';
import { buildStatus, builtStatus, gateRow, rolloutStatus, type TestWorld, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createFakeGithub, type FakeGithub } from '@fairlead/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectApp, githubParts } from './github.testing.ts';
import { sendGithubReportsHandler } from './github-report.ts';
import { syncGithubAppsHandler } from './github-sync.ts';
import type { HandlerParts } from './handler.ts';

let db: TestDatabase;
let world: TestWorld;
let fake: FakeGithub;
let logs: string;
let parts: HandlerParts;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  fake = await createFakeGithub();
  logs = await mkdtemp(join(tmpdir(), 'fairlead-logs-'));
  parts = githubParts(db.database, world, { now: () => new Date(), logs });
});
afterEach(async () => {
  expect(fake.state.problems).toEqual([]);
  await fake.close();
  await db.drop();
  await rm(logs, { recursive: true });
});

const unknownApp = {
  githubId: 1,
  slug: 'unknown',
  name: 'Unknown',
  ownerLogin: 'acme',
  clientId: 'unknown',
  clientSecret: 'unknown',
  webhookSecret: 'unknown',
};

const linkedApp = async () => (await connectApp(parts, world, fake)).appId;
const send = () => sendGithubReportsHandler(parts, {});
const received = (operation: string) =>
  fake.state.received.filter((each) => each.operation === operation).map(({ body }) => body);

async function liveDeployment() {
  const appId = await linkedApp();
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  return deploymentId;
}

/** Fails the build of a deployment, with a log that names a place. */
async function failAtBuild(deploymentId: DeploymentId): Promise<void> {
  await world.advance(deploymentId);
  const texts = ['> tsc', 'src/app.ts(3,1): \u001b[31merror\u001b[0m TS1005: expected.'];
  const lines = texts.map((text) => ({ unixMs: 1, step: 'build', stream: 'stdout' as const, text }));
  await world.system((ctx) =>
    recordLogChunk(forOrganization(ctx, world.organizationId), {
      store: parts.logs,
      serverId: world.serverId,
      deploymentId,
      firstLine: 0,
      sequence: 1n,
      lines,
    }),
  );
  const failure = { code: 'build.command_failed', message: 'The command failed.' };
  await world.report({ builds: [buildStatus(deploymentId, WorkState.FAILED, failure)] });
  await world.system(({ tx }) =>
    tx.deploymentStep.updateMany({ where: { deploymentId, name: 'build' }, data: { state: 'failed' } }),
  );
}

test('a live deployment is a check run, a commit status and a deployment with its address', async () => {
  const deploymentId = await liveDeployment();
  await send();
  expect(received('check-runs')).toMatchObject([
    {
      status: 'completed',
      conclusion: 'success',
      external_id: deploymentId,
      details_url: expect.stringMatching(`/deployments/${deploymentId}$`),
    },
  ]);
  expect(received('statuses')).toMatchObject([{ state: 'success', context: 'Fairlead: Shop / Production' }]);
  expect(received('deployments')).toMatchObject([{ environment: 'Shop / Production', required_contexts: [] }]);
  expect(received('deployment_statuses')).toMatchObject([
    { state: 'success', environment_url: 'https://shop.example.test:4443' },
  ]);
  const before = fake.state.received.length;
  await send();
  expect(fake.state.received).toHaveLength(before);
});

test('a crash after GitHub’s answer doubles neither the check run nor the deployment', async () => {
  const deploymentId = await liveDeployment();
  await send();
  const lost = { checkRunId: null, githubDeploymentId: null, sentPhase: null, attempts: 1 };
  const nextAttemptAt = world.clock.now();
  await world.system(({ tx }) => tx.githubReport.update({ where: { deploymentId }, data: { ...lost, nextAttemptAt } }));
  await send();
  const ids = (operation: string) =>
    new Set(fake.state.received.filter((each) => each.operation === operation).map(({ id }) => id)).size;
  expect([ids('check-runs'), ids('deployments')]).toEqual([1, 1]);
  expect(await world.system(({ tx }) => tx.githubReport.findFirst())).toMatchObject({
    checkRunId: expect.any(BigInt),
    sentPhase: 'live',
    nextAttemptAt: null,
  });
});

test.each([1, 2, 3, 4])('an answer that is lost, number %i, doubles nothing', async (answersUntilLost) => {
  await liveDeployment();
  fake.state.faults.answersUntilLost = answersUntilLost;
  await send();
  expect(fake.state.received).toHaveLength(answersUntilLost);
  world.clock.forward(60_000);
  await send();
  expect(
    new Set(fake.state.received.filter(({ operation }) => operation === 'check-runs').map(({ id }) => id)).size,
  ).toBe(1);
  for (const operation of ['statuses', 'deployments', 'deployment_statuses']) {
    expect(received(operation)).toHaveLength(1);
  }
  expect(await world.system(({ tx }) => tx.githubReport.findFirst())).toMatchObject({
    sentPhase: 'live',
    nextAttemptAt: null,
  });
});

test('a failed build has annotations once, the last lines of its step and no buttons', async () => {
  const appId = await linkedApp();
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId, ref: 'a'.repeat(40) }));
  await failAtBuild(deploymentId);
  fake.state.faults.answersUntilLost = 1;
  await send();
  world.clock.forward(60_000);
  await send();
  const annotations = received('check-runs').flatMap(
    ({ output }) => (output as { readonly annotations?: readonly unknown[] }).annotations ?? [],
  );
  expect(annotations).toEqual([
    {
      path: 'src/app.ts',
      start_line: 3,
      end_line: 3,
      annotation_level: 'failure',
      message: 'src/app.ts(3,1): error TS1005: expected.',
    },
  ]);
  expect(received('check-runs').at(-1)).toMatchObject({
    conclusion: 'failure',
    actions: [],
    output: { text: expect.stringContaining('error TS1005') },
  });
});

test('the check run tells the figures of a benchmark gate', async () => {
  const appId = await linkedApp();
  const capabilities = ['app', 'route', 'build', 'build.plan', 'build.default_branch', 'benchmark.gate'];
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities } }));
  const benchmarkGate = {
    ...{ path: '/', concurrency: 8, durationMs: 1000, rounds: 1 },
    thresholds: [{ metric: 'success_percent' as const, min: 99 }],
  };
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { benchmarkGate } }));
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  const failure = { code: 'benchmark.threshold_missed', message: 'The success rate is too low.' };
  const rollout = rolloutStatus(deploymentId, WorkState.FAILED, failure);
  const row = gateRow({ requests: 90n, errors: 10n });
  await world.report({ builds: [builtStatus(deploymentId)] });
  await world.report({ rollouts: [{ ...rollout, benchmarkRows: [row] }] });
  await send();
  expect(received('check-runs').at(-1)).toMatchObject({
    conclusion: 'failure',
    output: {
      summary: 'The success rate is too low.\n\nBenchmark gate failed: success 90 % (at least 99 %, missed).',
    },
  });
});

test('an answer on a check run changes only the check run', async () => {
  const deploymentId = await liveDeployment();
  await send();
  const before = fake.state.received.length;
  await world.tenant((ctx) => noteOnReport(ctx, { deploymentId }, 'Rollback by @bob was refused.'));
  await send();
  expect(fake.state.received.slice(before)).toMatchObject([
    {
      operation: 'check-runs',
      body: { output: { summary: expect.stringContaining('Rollback by @bob was refused.') } },
    },
  ]);
  await send();
  expect(fake.state.received).toHaveLength(before + 1);
});

test('an outage and a rate limit delay a report and lose none', async () => {
  await liveDeployment();
  fake.state.faults.down = true;
  await send();
  fake.state.faults.down = false;
  await send();
  expect(fake.state.received).toEqual([]);
  world.clock.forward(60_000);
  const retryAfterSeconds = 3600;
  fake.state.faults.rateLimit = { kind: 'secondary', remaining: 1, retryAfterSeconds };
  await send();
  const [row] = await world.system(({ tx }) => tx.githubReport.findMany());
  expect(row?.nextAttemptAt?.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
  await world.system(({ tx, clock }) => tx.githubReport.updateMany({ data: { nextAttemptAt: clock.now() } }));
  await send();
  expect(received('check-runs')).toHaveLength(1);
});

test('what changes at GitHub is copied, and an app that GitHub no longer knows keeps no other from it', async () => {
  await linkedApp();
  const [repository] = fake.state.repositories;
  if (repository !== undefined) repository.name = 'store';
  await world.tenant((ctx) =>
    recordRegistration(
      ctx,
      { purpose: 'register', baseUrl: fake.url, githubAppId: 'gha_0unknown' },
      { ...unknownApp, privateKey: fake.state.apps[0]?.pem ?? '' },
      world.keys,
    ),
  );
  await syncGithubAppsHandler(parts, {});
  expect(await world.system(({ tx }) => tx.appRepository.findFirst())).toMatchObject({ fullName: 'acme/store' });
});
