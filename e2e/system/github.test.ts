// Tests of apps from private repositories of a GitHub App, on a real agent.
import { createFakeGithub } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { CONTROL_HOST } from '../../tools/start/control-plane.ts';
import { respondingApp } from './harness/apps.ts';
import { AGENT } from './harness/assemble.ts';
import { type ConnectedGithub, connectGithub, githubSettings } from './harness/github.ts';
import { System } from './harness/system.ts';

let system: System;
let github: ConnectedGithub;

beforeAll(async () => {
  system = await System.start({ settings: githubSettings });
  const { url } = await system.repositories.create('unused', respondingApp('unused'));
  const gitUrl = new URL('.', url).href.replace(/\/$/, '');
  github = await connectGithub(system, await createFakeGithub({ gitUrl }));
});
afterAll(async () => {
  await github?.fake.close();
  await system?.stop();
});

/** Creates an app from a new private repository, without a deployment. */
async function newApp(slug: string) {
  await system.repositories.create(slug, respondingApp(`hello from ${slug}`));
  const { repositoryId } = await github.publish(slug);
  const { id } = await system.product.verbs.createApp(
    {
      name: slug,
      source: { kind: 'github', installationId: github.installationId, repositoryId },
      healthPath: '/',
      serverIds: [await system.serverId()],
      domain: { host: `${slug}.localhost` },
      firstDeploy: 'none',
    },
    { controlHost: CONTROL_HOST, publicHost: '' },
  );
  return id;
}

test('a private repository is built with a token for it alone, which is in no log', async () => {
  const appId = await newApp('private');
  expect(await system.deploy(appId)).toMatchObject({ state: 'live', failureMessage: null });
  expect((await system.get('private')).body).toBe('hello from private');
  const cloned = [...github.fake.state.tokens].filter(([, { permissions }]) => permissions.contents !== undefined);
  expect(cloned).toMatchObject([
    [expect.any(String), { permissions: { contents: 'read', metadata: 'read' }, repositoryIds: [expect.any(Number)] }],
  ]);
  const logs = ['gateway', 'worker', AGENT].map((service) => system.logOf(service)).join('\n');
  for (const [token] of cloned) expect(logs).not.toContain(token);
  const reported = await waitFor(
    async () => {
      const done = github.fake.state.received.filter(({ operation }) => operation === 'deployment_statuses');
      return done.find(({ body }) => body.state === 'success');
    },
    { what: 'the report to GitHub', timeoutMs: 60_000 },
  );
  expect(reported.repository).toBe('acme/private');
  expect(github.fake.state.problems).toEqual([]);
});

test('an uninstalled app ends a deployment with a sentence, and an outage of GitHub does not', async () => {
  const appId = await newApp('gone');
  github.fake.state.faults.down = true;
  const { deploymentId } = await system.product.verbs.createDeployment({ appId });
  await waitFor(async () => system.logOf('worker').includes('GitHub gave no token for a clone') || undefined, {
    what: 'the failed request for a token',
    timeoutMs: 60_000,
  });
  github.fake.state.faults.down = false;
  expect(await system.waitForDeployment(deploymentId)).toMatchObject({ state: 'live' });
  const other = await newApp('never');
  github.fake.state.installations.length = 0;
  expect(await system.deploy(other)).toMatchObject({
    state: 'failed',
    failureCode: 'github.installation_gone',
    failureMessage: expect.stringContaining('suspended or uninstalled'),
  });
});
