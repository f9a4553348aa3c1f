// Life cycle of planted secrets: set, replaced, shared, mistyped, revealed, restored, rotated, deployed, read and
// deleted.
import { WorkState } from '@fairlead/contract/agent';
import { builtStatus, rolloutStatus, type TestWorld } from '@fairlead/core/testing';
import type { OpenFakeLink } from '@fairlead/testkit';
import type { Call } from './caller.ts';
import { nextState, report, requireArrived } from './link.ts';
import type { Planted } from './search.ts';

export interface LifecycleOptions {
  readonly call: Call;
  readonly world: TestWorld;
  readonly link: OpenFakeLink;
  readonly planted: readonly Planted[];
  readonly keep: (name: string, text: string | Uint8Array) => void;
  readonly identity: string;
  readonly note: (line: string) => void;
}

export async function runLifecycle({
  call,
  world,
  link,
  planted,
  keep,
  identity,
  note,
}: LifecycleOptions): Promise<void> {
  const created = await call('app.create', 'POST', {
    name: 'Shop',
    source: { kind: 'git', repositoryUrl: 'https://git.example.test/shop.git' },
    serverIds: [world.serverId],
    firstDeploy: 'none',
  });
  const appId = String(created.id);
  const owner = { appId };
  const { groupId } = await call('secret.createGroup', 'POST', { name: 'shared' });
  await call('secret.attachGroup', 'POST', { groupId, appId });

  // Writes half of them a second time, as a rotation does; the last ones are in a group.
  const items = planted.map(({ name, value }, index) => ({
    name,
    value,
    sealed: index % 2 === 0,
    delivery: index % 3 === 0 ? 'file' : 'environment',
  }));
  const own = items.slice(0, 180);
  await call('secret.update', 'POST', { owner, items: own.map((item) => ({ ...item, value: `older ${item.value}` })) });
  await call('secret.update', 'POST', { owner, items: own });
  await call('secret.update', 'POST', { owner, items: own });
  await call('secret.update', 'POST', { owner: { groupId }, items: items.slice(180) });

  note('secrets are set; now everything that goes wrong with them');
  const [first, open] = [planted[0], planted[1]];
  if (first === undefined || open === undefined) throw new Error('nothing is planted');
  const wrong = [
    { owner, items: [{ name: 'TOO_LONG', value: first.value.repeat(20_000).slice(0, 70_000) }] },
    { owner, items: [{ name: 'NUL', value: `${first.value}\0` }] },
    { owner, items: [{ name: first.value, value: 'a value in the place of the name' }] },
    { owner: { appId: first.value }, items: [{ name: 'A', value: first.value }] },
    { owner: { appId: 'app_00000000000000000000' }, items: [{ name: 'A', value: first.value }] },
    { owner, items: [{ name: 'PORT', value: first.value }] },
    { owner, items: [{ name: 'A', value: first.value, delivery: first.value }] },
    {
      owner,
      items: [
        { name: 'A', value: first.value },
        { name: 'A', value: open.value },
      ],
    },
  ];
  for (const input of wrong) await call('secret.update', 'POST', input, { fails: true });

  const listed = await call('secret.list', 'GET', { appId });
  const idOf = (name: string) => {
    const found = (listed.secrets as { id: string; name: string }[]).find((secret) => secret.name === name);
    if (found === undefined) throw new Error(`the list lacks ${name}`);
    return found.id;
  };
  await call('secret.reveal', 'POST', { secretId: idOf(first.name), number: 2 }, { fails: true });
  const revealed = await call('secret.reveal', 'POST', { secretId: idOf(open.name), number: 2 }, { isReveal: true });
  if (revealed.value !== open.value) throw new Error('a reveal did not answer the value');
  await call('secret.restore', 'POST', { secretId: idOf(open.name), number: 1 });
  await call('secret.restore', 'POST', { secretId: idOf(open.name), number: 2 });
  await call('secret.rotateKey', 'POST');

  note('a deployment, a restart with newer secrets, a rollback');
  const { deploymentId } = await call('deployment.create', 'POST', { appId });
  const building = await nextState(link, keep, (state) => state.builds.length > 0);
  if (building.builds[0]?.deploymentId !== deploymentId) throw new Error('the agent was told of another build');
  report(link, { builds: [builtStatus(String(deploymentId))] });
  await nextState(link, keep, (state) => state.apps.some(({ candidate }) => candidate !== undefined));
  report(link, { rollouts: [rolloutStatus(String(deploymentId), WorkState.SUCCEEDED)] });
  const running = await nextState(link, keep, (state) => state.apps.some(({ live: release }) => release !== undefined));
  await requireArrived(running, identity, planted);

  await call('secret.update', 'POST', { owner, items: [{ name: 'ONE_MORE', value: `and ${first.value}` }] });
  const again = await call('deployment.deploySecrets', 'POST', { appId });
  await nextState(link, keep, (state) =>
    state.apps.some(({ candidate }) => candidate?.deploymentId === again.deploymentId),
  );
  report(link, {
    rollouts: [rolloutStatus(String(again.deploymentId), WorkState.FAILED, { code: 'rollout.unhealthy', message: '' })],
  });
  await nextState(link, keep, (state) => state.apps.every(({ candidate }) => candidate === undefined));

  const secretId = idOf(first.name);
  const reads: [string, object][] = [
    ['secret.list', { appId }],
    ['secret.versions', { secretId }],
    ['secret.listGroups', {}],
    ['app.list', { limit: 10 }],
    ['app.get', { slug: 'shop' }],
    ['overview.get', {}],
    ['deployment.list', { limit: 10 }],
    ['deployment.get', { deploymentId }],
    ['deployment.get', { deploymentId: again.deploymentId }],
    ['deployment.log', { deploymentId }],
    ['release.list', { appId, limit: 10 }],
    ['release.listUrls', { appId }],
    ['server.list', {}],
    ['server.get', { serverId: world.serverId }],
    ['member.list', {}],
    ['domain.list', { limit: 10 }],
  ];
  for (const [path, input] of reads) await call(path, 'GET', input);
  await call('secret.delete', 'POST', { secretId });
  await call('app.delete', 'POST', { appId, confirmName: first.value }, { fails: true });
}
