// Sends planned pushes through a fake GitHub while processes are killed and GitHub has outages, and counts what became of each.
import { setTimeout as delay } from 'node:timers/promises';
import { githubPush } from '@fairlead/core/push/testing';
import { waitFor } from '../../tools/lib/wait.ts';
import { countPushes, type PushReport } from './push-count.ts';
import { type PushPlan, planPushes } from './push-plan.ts';
import { type PushStage, startPushStage, type Victim } from './push-stage.ts';

/** Outage of GitHub's API, or webhooks that GitHub does not get through. */
type Outage = 'github_down' | 'github_slow' | 'github_limited' | 'webhooks_dropped';
export type Disturbance = Victim | Outage;

export interface PushCheckOptions {
  readonly pushes: number;
  readonly repositories: number;
  readonly seed: number;
  /** One after another, spread over the deliveries. */
  readonly disturbances: readonly Disturbance[];
}

const settleMs = 180_000;
const pauseMs = 40;
const outageMs = 2_000;
const buildMs = 300;

export async function checkPushes({ disturbances, ...options }: PushCheckOptions): Promise<PushReport> {
  const plan = planPushes(options);
  const stage = await startPushStage({ repositories: options.repositories, buildMs });
  try {
    const { deliveries } = plan;
    const every = Math.ceil(deliveries.length / (disturbances.length + 1));
    let disturbed = Promise.resolve();
    for (const [index, push] of deliveries.entries()) {
      const disturbance = index % every === 0 ? disturbances[index / every - 1] : undefined;
      if (disturbance !== undefined) {
        await disturbed;
        // Deliveries go on meanwhile.
        disturbed = disturb(stage, disturbance);
      }
      const { fake, atGithub: appId } = stage.github;
      const payload = githubPush({ ...push, message: push.isSkipped ? 'Docs [skip ci]' : 'Sell shoes' });
      await fake.deliver({ appId, event: 'push', payload, guid: push.guid });
      await delay(pauseMs);
    }
    await disturbed;
    await settle(stage, plan);
    return countPushes(plan, await readOutcomes(stage));
  } finally {
    await stage.stop();
  }
}

async function disturb({ kill, github }: PushStage, disturbance: Disturbance): Promise<void> {
  const { faults } = github.fake.state;
  switch (disturbance) {
    case 'github_down':
      faults.down = true;
      await delay(outageMs);
      faults.down = false;
      return;
    case 'github_slow':
      faults.hold = delay(outageMs);
      await faults.hold;
      faults.hold = null;
      return;
    case 'github_limited':
      faults.rateLimit = { kind: 'secondary', remaining: 20, retryAfterSeconds: 1 };
      await delay(outageMs);
      faults.rateLimit = null;
      return;
    case 'webhooks_dropped':
      faults.dropsWebhooks = true;
      await delay(outageMs);
      faults.dropsWebhooks = false;
      return;
    default:
      await kill(disturbance);
  }
}

/** Gives up after a while: the count then shows what is missing. */
async function settle({ world }: PushStage, { pushes }: PushPlan): Promise<void> {
  const isSettled = () =>
    world.system(async ({ tx }) => {
      const decided = await tx.webhookDelivery.count({ where: { state: { not: 'received' } } });
      const open = await tx.deployment.count({ where: { finishedAt: null } });
      return decided === pushes.length && open === 0;
    });
  try {
    await waitFor(isSettled, { what: `the end of ${pushes.length} pushes`, timeoutMs: settleMs, everyMs: 500 });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
  // A second look: nothing may start anew.
  await delay(1000);
}

async function readOutcomes({ world, github, apps }: PushStage) {
  const { decisions, deployments } = await world.system(async ({ tx }) => ({
    decisions: await tx.pushDecision.findMany({
      select: { outcome: true, deploymentId: true, delivery: { select: { after: true } } },
    }),
    deployments: await tx.deployment.findMany({ where: { trigger: 'push' }, orderBy: { number: 'asc' } }),
  }));
  const { received } = github.fake.state;
  const checkRuns = received.filter(({ operation, body }) => operation === 'check-runs' && 'external_id' in body);
  return {
    decisions: decisions.map(({ delivery, ...decision }) => ({ ...decision, after: delivery.after })),
    deployments,
    checkRuns: checkRuns.map(({ body }) => String(body.external_id)),
    apps,
  };
}
