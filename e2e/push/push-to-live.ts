// Measures pushes until they are live: a signed webhook of the fake GitHub, the whole product, and a real agent that
// clones over HTTP.
import { type AppId, type DeploymentId, type GithubInstallationId, parseId } from '@fairlead/contract/ids';
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { waitFor } from '../../tools/lib/wait.ts';
import { CONTROL_HOST } from '../../tools/start/control-plane.ts';
import { connectGithub, githubSettings } from '../system/harness/github.ts';
import { System } from '../system/harness/system.ts';
import { type GitHost, type PublishedRepository, startGitHost } from '../ui/git-host.ts';
import type { PushedApp } from './example-apps.ts';

/** Time from the webhook of one push until it is live, divided into phases. */
export interface PushToLive {
  readonly phases: readonly (readonly [name: string, ms: number])[];
  /** Until the deployment is live. */
  readonly liveMs: number;
  /** Until a visitor gets the new commit. */
  readonly visitorMs: number;
}

const pollMs = 25;
const timeoutMs = 600_000;

/** Pushes to each app so often, after a first deployment that fills the caches. */
export async function measurePushesToLive(
  apps: readonly PushedApp[],
  pushes: number,
): Promise<ReadonlyMap<PushedApp, readonly PushToLive[]>> {
  const host = await startGitHost();
  try {
    const system = await System.start({ durable: true, dashboard: true, settings: githubSettings });
    try {
      const { installationId, listRepositories } = await connectGithub(
        system,
        host.fake,
        system.controlPlane.publicUrl,
      );
      const measured = new Map<PushedApp, readonly PushToLive[]>();
      for (const app of apps) {
        const repository = await host.publish(app.name, app.files);
        await listRepositories();
        const appId = await createApp(system, app, { installationId, repositoryId: repository.at.id });
        requireLive(await system.deploy(appId));
        const stage: Stage = { system, host, app, repository };
        const rows: PushToLive[] = [];
        for (let push = 1; push <= pushes; push += 1) rows.push(await measurePush(stage, `Push ${push} is live.`));
        measured.set(app, rows);
      }
      return measured;
    } finally {
      await system.stop();
    }
  } finally {
    await host.close();
  }
}

interface Stage {
  readonly system: System;
  readonly host: GitHost;
  readonly app: PushedApp;
  readonly repository: PublishedRepository;
}

async function createApp(
  system: System,
  { name }: PushedApp,
  source: { readonly installationId: GithubInstallationId; readonly repositoryId: number },
): Promise<AppId> {
  const { id } = await system.product.verbs.createApp(
    {
      name,
      source: { kind: 'github', ...source },
      healthPath: '/',
      serverIds: [await system.serverId()],
      domain: { host: `${name}.localhost` },
      firstDeploy: 'none',
    },
    { controlHost: CONTROL_HOST, publicHost: '' },
  );
  return id;
}

async function measurePush({ system, host, app, repository }: Stage, text: string): Promise<PushToLive> {
  const deliver = await host.commit(repository, text, app.change(text));
  const sentAt = Date.now();
  const status = await deliver();
  const answeredAt = Date.now();
  if (status !== 202) throw new Error(`the webhook was answered with ${status}`);
  const options = { timeoutMs, everyMs: pollMs };
  const visited = waitFor(async () => (await system.get(app.name)).body.includes(text) && Date.now(), {
    what: `a response with "${text}"`,
    ...options,
  });
  const deployed = waitFor(() => findDeployment(system, repository.head), { what: 'a deployment', ...options }).then(
    (deploymentId) => system.waitForDeployment(deploymentId),
  );
  const [visitedAt, deployment] = await Promise.all([visited, deployed.then(requireLive)]);
  const { queuedAt, finishedAt, steps } = deployment;
  if (finishedAt === null) throw new Error('a live deployment has no end');
  const phases = [
    ['intake (202)', answeredAt - sentAt] as const,
    ['processing', queuedAt.getTime() - answeredAt] as const,
    ...steps.map(({ name, durationMs }) => [name, durationMs ?? 0] as const),
  ];
  return { phases, liveMs: finishedAt.getTime() - sentAt, visitorMs: visitedAt - sentAt };
}

async function findDeployment(system: System, commitHash: string): Promise<DeploymentId | undefined> {
  const row = await system.asSystem(({ tx }) =>
    tx.deployment.findFirst({ where: { ref: commitHash }, select: { id: true } }),
  );
  return row === null ? undefined : parseId('dep', row.id);
}

function requireLive(deployment: DeploymentDetail): DeploymentDetail {
  const { state, failureMessage } = deployment;
  if (state !== 'live') throw new Error(`a deployment ended ${state}: ${failureMessage}`);
  return deployment;
}
