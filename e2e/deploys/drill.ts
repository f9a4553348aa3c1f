// Deployment drill: deploys, rolls back, restarts and scales one app under steady load, and reports what its visitors
// noticed. Owns the expected state after each step; never starts a system itself.
import type { DeploymentId } from '@fairlead/contract/ids';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded } from '../system/harness/apps.ts';
import type { LoadResult } from '../system/harness/load.ts';
import type { System } from '../system/harness/system.ts';

export interface DrillOptions {
  /** Each round is a deployment, a rollback, a restart and a scaling. */
  readonly rounds: number;
  readonly note?: (line: string) => void;
}

export interface DrillResult {
  readonly deployments: number;
  /** Operations that did not end as expected, one sentence each. */
  readonly problems: readonly string[];
  readonly load: LoadResult;
}

const SLUG = 'proven';
/**
 * WebSockets that stay until their server closes them make a rollout take half a drain, so not every round has them.
 */
const HOLDING_EVERY = 4;
const HELD = 3;
const COPIES: readonly number[] = [3, 1, 4, 2];

export async function drillDeploys(system: System, { rounds, note = () => undefined }: DrillOptions) {
  const repository = await system.repositories.create(SLUG, loaded('version 0'));
  const first = await system.createApp(SLUG, repository);
  const { appId } = first;
  if (first.state !== 'live') throw new Error(`the first deployment failed: ${first.failureMessage}`);
  const { verbs } = system.product;
  const problems: string[] = [];
  let deployments = 0;
  const load = system.load(SLUG);
  await load.more(5);

  async function act(what: string, work: () => Promise<void>): Promise<void> {
    const before = load.result();
    const startedAt = performance.now();
    deployments++;
    try {
      await work();
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
    // Requests just before the end of the step must have succeeded, too.
    await load.more(3);
    const after = load.result();
    const [requests, failed] = [after.requests - before.requests, after.failures.length - before.failures.length];
    note(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s, ${requests} requests, ${failed} failed`);
  }

  async function live({ deploymentId }: { readonly deploymentId: DeploymentId }, text: string): Promise<void> {
    const ended = await system.waitForDeployment(deploymentId);
    if (ended.state !== 'live') throw new Error(`ended ${ended.state}: ${ended.failureMessage}`);
    const { body } = await system.get(SLUG);
    if (body !== text) throw new Error(`${JSON.stringify(body)} serves instead of ${JSON.stringify(text)}`);
  }
  const pids = async () => (await system.app(SLUG)).instances.map(({ pid }) => pid);
  const settled = (copies: number) =>
    waitFor(
      async () => {
        const { instances } = await system.app(SLUG);
        return instances.length === copies && instances.every(({ state }) => state === 'healthy');
      },
      { what: `${copies} healthy instances and no other`, timeoutMs: 90_000 },
    );

  for (let round = 0; round < rounds; round++) {
    const holds = round % HOLDING_EVERY === 0;
    load.hold(holds ? HELD : 0);
    const name = `round ${round + 1} of ${rounds}${holds ? ', WebSockets held' : ''}`;
    const text = `version ${round + 1}`;
    const before = (await system.app(SLUG)).liveRelease;
    if (before === null) throw new Error('nothing is live');
    const beforeText = (await system.get(SLUG)).body;

    await act(`${name}: deployment`, async () => {
      await repository.commit(text, loaded(text));
      await live(await verbs.createDeployment({ appId }), text);
    });
    await act(`${name}: rollback`, async () =>
      live(await verbs.rollbackApp({ appId, releaseId: before.id }), beforeText),
    );
    await act(`${name}: restart`, async () => {
      const old = await pids();
      await live(await verbs.restartApp({ appId }), beforeText);
      await waitFor(async () => (await pids()).every((pid) => !old.includes(pid)), {
        what: 'instances that are all new',
        timeoutMs: 30_000,
      });
    });
    await act(`${name}: scaling`, async () => {
      const copies = COPIES[round % COPIES.length] ?? 1;
      await verbs.scaleApp({ appId, instances: copies });
      await settled(copies);
    });
  }
  return { deployments, problems, load: await load.stop() } satisfies DrillResult;
}
