// `npm run perf:push`: deliveries a second of the webhook endpoint, the time from a delivery to the start of its build,
// and the phases of pushes of example apps until they are live. Run it on an idle machine.
import { availableParallelism, loadavg } from 'node:os';
import { signatureOf } from '@fairlead/api/webhook';
import { githubPush, testHash } from '@fairlead/core/push/testing';
import { waitFor } from '../../tools/lib/wait.ts';
import { buildWeb, generateClient } from '../../tools/start/builds.ts';
import { binaries } from '../perf/prepare.ts';
import { percentile } from '../perf/table.ts';
import { helloNode, midSizeNext, type PushedApp } from './example-apps.ts';
import { type PushStage, startPushStage } from './push-stage.ts';
import type { PushToLive } from './push-to-live.ts';

const deliveries = 5_000;
const concurrency = 50;
const singlePushes = 100;
const pushesToLive = 5;
const targets = { deliveriesPerSecond: 500, p50Ms: 300, p99Ms: 1000 };

const load = () => `load ${loadavg()[0]?.toFixed(2)}`;
console.log(`${availableParallelism()} cores, ${load()}`);
await generateClient(() => undefined);
const isPromptlyStarted = await reportStarts();
await buildWeb(() => undefined);
// The agent as it is released. The harness reads the variable when it is imported.
process.env.FAIRLEAD_E2E_AGENT ??= binaries(false).agent;
const { measurePushesToLive } = await import('./push-to-live.ts');
const isPromptlyLive = await reportPushesToLive();
process.exitCode = isPromptlyStarted && isPromptlyLive ? 0 : 1;

/** Prints the rates with a simulated agent; returns false if a target is missed. */
async function reportStarts(): Promise<boolean> {
  const stage = await startPushStage({ repositories: 1, buildMs: 0 });
  try {
    const delays = await measureStarts(stage);
    const busyRate = await measureRate(stage, 'beside-worker');
    const resume = stage.pause('worker');
    const rate = await measureRate(stage, 'alone').finally(resume);
    const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)];
    console.log(
      `webhook to build start: p50 ${p50} ms (target ${targets.p50Ms}), p99 ${p99} ms (target ${targets.p99Ms})`,
    );
    console.log(
      `webhook endpoint: ${rate} deliveries/s (target ${targets.deliveriesPerSecond}); while the worker processes them, ${busyRate}/s`,
    );
    return p50 <= targets.p50Ms && p99 <= targets.p99Ms && rate >= targets.deliveriesPerSecond;
  } finally {
    await stage.stop();
  }
}

/** Prints the phases with the whole product; returns false if a target is missed. */
async function reportPushesToLive(): Promise<boolean> {
  const measured = await measurePushesToLive([helloNode(), await midSizeNext()], pushesToLive);
  return [...measured].map(([app, pushes]) => reportApp(app, pushes)).every(Boolean);
}

function reportApp({ title, targetMs }: PushedApp, pushes: readonly PushToLive[]): boolean {
  const line = (what: string, milliseconds: readonly number[], target = '') => {
    const at = (share: number) => `${Math.round(percentile(milliseconds, share))} ms`.padStart(9);
    console.log(`${what.padEnd(32)} p50 ${at(0.5)}  max ${at(1)}${target}`);
  };
  const lives = pushes.map(({ liveMs }) => liveMs);
  console.log(`\n${title}: ${pushes.length} pushes with a warm cache, ${load()}`);
  line('webhook to live', lives, `  (target ${targetMs} ms)`);
  line(
    'webhook to the first response',
    pushes.map(({ visitorMs }) => visitorMs),
  );
  for (const [index, [name]] of (pushes[0]?.phases ?? []).entries())
    line(
      `  ${name}`,
      pushes.map(({ phases }) => phases[index]?.[1] ?? 0),
    );
  return percentile(lives, 0.5) <= targetMs;
}

/** One push after another to an idle worker. The build starts when its server gets the new desired state. */
async function measureStarts(pushStage: PushStage): Promise<number[]> {
  const { world } = pushStage;
  const delays: number[] = [];
  for (let number = 1; number <= singlePushes; number += 1) {
    const after = testHash(number + 1);
    const body = githubPush({ repositoryId: 1, before: testHash(number), after, pushedAt: 1_764_000_000 + number });
    const sentAt = Date.now();
    await send(pushStage, `single-${number}`, body);
    const startedAt = await waitFor(
      async () => {
        const where = { ref: after, startedAt: { not: null } };
        const row = await world.system(({ tx }) => tx.deployment.findFirst({ where, select: { startedAt: true } }));
        return row?.startedAt ?? undefined;
      },
      { what: 'the start of a build', timeoutMs: 30_000, everyMs: 20 },
    );
    delays.push(startedAt.getTime() - sentAt);
    await waitFor(
      () => world.system(async ({ tx }) => (await tx.deployment.count({ where: { finishedAt: null } })) === 0),
      { what: 'an idle server', timeoutMs: 30_000, everyMs: 20 },
    );
  }
  return delays;
}

/** To a branch that no app follows, so that the worker has little to do. The client takes about a third of the work. */
async function measureRate(pushStage: PushStage, round: string): Promise<number> {
  const body = githubPush({ repositoryId: 1, ref: 'refs/heads/other' });
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < deliveries) {
        next += 1;
        await send(pushStage, `${round}-${next}`, body);
      }
    }),
  );
  return Math.round(deliveries / ((performance.now() - startedAt) / 1000));
}

async function send({ webhookUrl, github }: PushStage, guid: string, body: string): Promise<void> {
  const headers = {
    'x-github-event': 'push',
    'x-github-delivery': guid,
    'x-hub-signature-256': signatureOf(github.webhookSecret, body),
  };
  const { status } = await fetch(webhookUrl, { method: 'POST', headers, body });
  if (status !== 202) throw new Error(`a delivery was answered with ${status}`);
}
