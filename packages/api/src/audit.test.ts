// Every change is written down: each mutation of the router is called with an input that it accepts, and must leave an
// event of its own. A new mutation without an entry here does not compile.
import { newId, parseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AppRouter, answerAuditExport } from './index.ts';
import { apiRouter } from './router.ts';
import { origin, startTestApi, type TestApi, testAgent } from './testing/index.ts';

// A person's own account belongs to no organization and so to no audit log: what happens to it is written to account_event,
// which packages/auth's tests hold.
type Features = Omit<AppRouter['_def']['record'], 'account'>;
type MutationsOf<Feature extends keyof Features> = {
  [Verb in keyof Features[Feature] & string]: Features[Feature][Verb] extends { _def: { type: 'mutation' } }
    ? `${Feature}.${Verb}`
    : never;
}[keyof Features[Feature] & string];
type Mutation = { [Feature in keyof Features]: MutationsOf<Feature> }[keyof Features];

interface Call {
  /** Makes what the input speaks of. */
  input(): Promise<unknown>;
  /** The action it is written down as; null for what only reads and is a mutation to keep its input out of the address. */
  readonly action: string | null;
  /** Puts back what would be in the others' way. */
  after?(): Promise<unknown>;
  /** Without it, the owner calls. Asked after the input was made. */
  by?(): { readonly cookie: string; readonly userId: string };
  /** Without it, it happens in the world's organization. Asked after the input was made. */
  at?(): { readonly id: string; readonly slug: string };
  /** Whose log it is in, where nobody could know before. */
  logOf?(answer: unknown): string;
  /** For procedures that no member calls. */
  readonly asStranger?: true;
}

let api: TestApi;
let owner: { cookie: string; userId: string };
let other: { cookie: string; userId: string };
let elsewhere: { id: string; slug: string };
let appsMade = 0;

beforeAll(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
});
afterAll(() => api.close());

const caller = () => api.caller(owner.cookie);
const newApp = (changes: object = {}) => api.world.createApp(`App ${++appsMade}`, changes);
async function liveApp() {
  const made = await newApp({ host: `app${appsMade}.example.test`, deployNow: true });
  const deploymentId = made.deploymentId ?? '';
  await api.world.advance(deploymentId);
  await api.world.finish(deploymentId);
  return { ...made, deploymentId };
}

async function newServer() {
  const id = newId('srv');
  const { organizationId } = api.world;
  await api.world.system(({ tx }) =>
    tx.server.create({ data: { id, organizationId, name: `server-${++appsMade}`, publicKey: new Uint8Array(32) } }),
  );
  return id;
}
async function newVolume() {
  const id = newId('vol');
  const { organizationId } = api.world;
  const { appId } = await newApp();
  const place = { appId, environmentId: await environmentId() };
  await api.world.system(({ tx }) =>
    tx.volume.create({ data: { id, organizationId, ...place, name: 'data', label: 'Shop · Production' } }),
  );
  return { volumeId: id, confirmName: 'data' };
}

const environmentId = async () => {
  const [environment] = (await caller().environment.list()).items;
  if (environment === undefined) throw new Error('an environment was expected');
  return environment.id;
};
const setProtected = async (isProtected: boolean) =>
  caller().environment.update({ environmentId: await environmentId(), protected: isProtected });
/** Asked for by somebody else than the owner, who decides. */
async function awaitingDeployment() {
  await setProtected(true);
  const { deploymentId } = await newApp({ deployNow: true });
  await setProtected(false);
  return { deploymentId };
}
const newRole = () => caller().role.create({ name: `Role ${++appsMade}`, permissions: ['app.read'] });
const newAccount = (name: string) => caller().serviceAccount.create({ name, role: 'deployer' });
async function newMember() {
  other = await api.signUp(`Helper${++appsMade}`, 'viewer');
  const member = (await caller().member.list()).items.find(({ userId }) => userId === other.userId);
  if (member === undefined) throw new Error('a member was expected');
  return { memberId: member.id };
}
const newGrant = async () => ({
  ...(await newMember()),
  role: 'developer' as const,
  scope: { kind: 'organization' as const },
});
const newInvitation = () => caller().invitation.create({ role: 'viewer' });
async function newInvitationToken() {
  const { url } = await newInvitation();
  return { token: url?.split('#token=')[1] };
}
/** An app with one secret that may be shown. */
async function newSecret() {
  const { appId } = await newApp();
  await caller().secret.update({ owner: { appId }, items: [{ name: 'OPEN', value: 'hunter2', sealed: false }] });
  const [secret] = (await caller().secret.list({ appId })).secrets;
  if (secret === undefined) throw new Error('a secret was expected');
  return { secretId: secret.id };
}
const newGroup = () => caller().secret.createGroup({ name: `group-${++appsMade}` });
const newAttachment = async () => ({ ...(await newGroup()), appId: (await newApp()).appId });
/** The world's own has the local server, so it cannot be deleted. */
async function newOrganization() {
  elsewhere = await caller().organization.create({ name: `Organization ${++appsMade}` });
  return { confirmName: `Organization ${appsMade}` };
}
const setOwner = () =>
  api.world.system(({ tx }) => tx.member.updateMany({ where: { userId: owner.userId }, data: { role: 'owner' } }));

const calls: Readonly<Record<Mutation, Call>> = {
  'app.create': {
    action: 'app.create',
    input: async () => ({
      name: 'Made',
      repositoryUrl: 'https://git.example.test/shop.git',
      serverId: api.world.serverId,
    }),
  },
  'app.scale': { action: 'app.scale', input: async () => ({ appId: (await newApp()).appId, instances: 2 }) },
  'app.update': { action: 'app.update', input: async () => ({ appId: (await newApp()).appId, healthPath: '/up' }) },
  'app.delete': {
    action: 'app.delete',
    input: async () => {
      const { appId } = await newApp();
      return { appId, confirmName: `App ${appsMade}` };
    },
  },
  'app.attachServer': {
    action: 'app.attach_server',
    input: async () => ({ appId: (await newApp()).appId, serverId: await newServer() }),
  },
  'app.detachServer': {
    action: 'app.detach_server',
    input: async () => {
      const { appId } = await newApp();
      return caller().app.attachServer({ appId, serverId: await newServer() });
    },
  },
  'app.detachEnvironment': {
    action: 'app.detach_environment',
    input: async () => {
      const { appId } = await newApp();
      const confirmName = `App ${appsMade}`;
      // What is older is home.
      api.world.clock.forward(1);
      const { environmentId } = await caller().environment.create({ name: `Leaving ${appsMade}` });
      await caller().app.attachServer({ appId, environmentId, serverId: api.world.serverId });
      return { appId, environmentId, confirmName };
    },
  },
  'config.update': {
    action: 'config.update',
    input: async () => ({ appId: (await newApp()).appId, settings: { keepReleases: 7 } }),
  },
  'credential.rotateKey': { action: 'credential.rotate', input: async () => ({ appId: (await newApp()).appId }) },
  'credential.update': {
    action: 'credential.update',
    input: async () => ({ appId: (await newApp()).appId, kind: 'https', username: 'ada', password: 'hunter2' }),
  },
  'credential.delete': {
    action: 'credential.delete',
    input: async () => {
      const { appId } = await newApp();
      await caller().credential.rotateKey({ appId });
      return { appId, kind: 'ssh' };
    },
  },
  'volume.delete': { action: 'volume.delete', input: async () => newVolume() },
  'volume.restore': {
    action: 'volume.restore',
    input: async () => {
      const wish = await newVolume();
      await caller().volume.delete(wish);
      return { volumeId: wish.volumeId };
    },
  },
  'benchmark.create': { action: 'benchmark.create', input: async () => ({ appId: (await liveApp()).appId, plan: {} }) },
  'benchmark.cancel': {
    action: 'benchmark.cancel',
    input: async () => {
      await api.world.system(({ tx }) =>
        tx.benchmarkRun.updateMany({ data: { state: 'succeeded', finishedAt: api.world.clock.now() } }),
      );
      return caller().benchmark.create({ appId: (await liveApp()).appId, plan: {} });
    },
  },
  'deployment.create': { action: 'deployment.create', input: async () => ({ appId: (await newApp()).appId }) },
  'deployment.redeploy': {
    action: 'deployment.redeploy',
    input: async () => ({ deploymentId: (await liveApp()).deploymentId }),
  },
  'deployment.retry': {
    action: 'deployment.retry',
    input: async () => {
      const deploymentId = parseId('dep', (await newApp({ deployNow: true })).deploymentId ?? '');
      await caller().deployment.cancel({ deploymentId });
      return { deploymentId };
    },
  },
  'deployment.promote': {
    action: 'deployment.promote_release',
    input: async () => {
      const { appId } = await liveApp();
      const { environmentId } = await caller().environment.create({ name: `Staging ${appsMade}` });
      await caller().app.attachServer({ appId, environmentId, serverId: api.world.serverId });
      const release = await api.world.system(({ tx }) => tx.release.findFirstOrThrow({ where: { appId } }));
      return { environmentId, releaseId: release.id };
    },
  },
  'deployment.pause': {
    action: 'deployment.pause',
    input: async () => ({ appId: (await newApp()).appId, paused: true }),
  },
  'deployment.rollback': {
    action: 'deployment.rollback',
    input: async () => {
      const { appId } = await liveApp();
      const [first] = await api.world.system(({ tx }) => tx.release.findMany({ where: { appId } }));
      const { deploymentId } = await caller().deployment.create({ appId });
      await api.world.advance(deploymentId);
      await api.world.finish(deploymentId);
      return { appId, releaseId: first?.id };
    },
  },
  'deployment.restart': {
    action: 'deployment.restart',
    input: async () => ({ appId: (await liveApp()).appId }),
  },
  'deployment.cancel': {
    action: 'deployment.cancel',
    input: async () => ({ deploymentId: (await newApp({ deployNow: true })).deploymentId }),
  },
  'deployment.deploySecrets': {
    action: 'deployment.deploy_secrets',
    input: async () => ({ appId: (await liveApp()).appId }),
  },
  'domain.attach': {
    action: 'domain.attach',
    input: async () => ({ appId: (await newApp()).appId, host: 'attached.example.test' }),
  },
  'domain.detach': {
    action: 'domain.detach',
    input: async () => {
      const { appId } = await newApp();
      return { domainId: (await caller().domain.attach({ appId, host: 'detached.example.test' })).id };
    },
  },
  'domain.updatePolicy': {
    action: 'domain.update_policy',
    input: async () => {
      const { appId } = await newApp();
      const { id } = await caller().domain.attach({ appId, host: 'ruled.example.test' });
      return { domainId: id, policy: { compress: true } };
    },
  },
  'deployment.approve': { action: 'deployment.approve', input: () => awaitingDeployment() },
  'deployment.refuse': { action: 'deployment.refuse', input: () => awaitingDeployment() },
  'environment.create': { action: 'environment.create', input: async () => ({ name: 'Preview' }) },
  'environment.update': {
    action: 'environment.update',
    input: async () => ({ environmentId: await environmentId(), protected: true }),
    after: () => setProtected(false),
  },
  'environment.delete': {
    action: 'environment.delete',
    input: async () => {
      api.world.clock.forward(1);
      return { ...(await caller().environment.create({ name: 'Ending' })), confirmName: 'Ending' };
    },
  },
  'grant.create': { action: 'grant.create', input: () => newGrant() },
  'grant.delete': {
    action: 'grant.delete',
    input: async () => ({ grantId: (await caller().grant.create(await newGrant())).grantId }),
  },
  'invitation.create': { action: 'invitation.create', input: async () => ({ role: 'viewer' }) },
  'invitation.rotate': {
    action: 'invitation.rotate',
    input: async () => {
      const { invitationId } = await newInvitation();
      // One is not sent again at once.
      api.world.clock.forward(60_000);
      return { invitationId };
    },
  },
  'invitation.revoke': { action: 'invitation.revoke', input: () => newInvitation() },
  'invitation.read': { action: null, input: () => newInvitationToken() },
  'invitation.accept': {
    action: 'invitation.accept',
    input: async () => {
      other = await api.signUp(`Guest${++appsMade}`, null);
      return newInvitationToken();
    },
    by: () => other,
  },
  'invitation.claim': {
    action: 'invitation.accept',
    asStranger: true,
    input: async () => ({
      ...(await newInvitationToken()),
      name: 'Newcomer',
      email: 'newcomer@example.test',
      password: 'correct horse battery',
    }),
  },
  'member.update': { action: 'member.update', input: async () => ({ ...(await newMember()), role: 'developer' }) },
  'member.delete': { action: 'member.delete', input: () => newMember() },
  'organization.create': {
    action: 'organization.create',
    input: async () => ({ name: 'Second' }),
    logOf: (answer) => (answer as { id: string }).id,
  },
  'organization.update': {
    action: 'organization.update',
    input: async () => ({ name: 'Acme Ltd' }),
    after: () => caller().organization.update({ name: 'acme' }),
  },
  'organization.transfer': {
    action: 'organization.transfer',
    input: async () => ({ ...(await newMember()), confirmName: 'acme' }),
    after: () => setOwner(),
  },
  'organization.delete': {
    action: 'organization.delete',
    input: () => newOrganization(),
    at: () => elsewhere,
  },
  'organization.restore': {
    action: 'organization.restore',
    input: async () => {
      const deletion = await newOrganization();
      await api.caller(owner.cookie, elsewhere.slug).organization.delete(deletion);
    },
    at: () => elsewhere,
  },
  'organization.leave': {
    action: 'organization.leave',
    input: async () => {
      await newMember();
      return { organizationId: api.world.organizationId };
    },
    by: () => other,
  },
  'role.create': { action: 'role.create', input: async () => ({ name: 'Reader', permissions: ['app.read'] }) },
  'role.update': { action: 'role.update', input: async () => ({ ...(await newRole()), name: 'Renamed' }) },
  'role.delete': { action: 'role.delete', input: () => newRole() },
  'secret.update': {
    action: 'secret.create',
    input: async () => ({ owner: { appId: (await newApp()).appId }, items: [{ name: 'NEW', value: 'hunter2' }] }),
  },
  'secret.delete': { action: 'secret.delete', input: () => newSecret() },
  'secret.restore': { action: 'secret.restore', input: async () => ({ ...(await newSecret()), number: 1 }) },
  'secret.reveal': { action: 'secret.reveal', input: async () => ({ ...(await newSecret()), number: 1 }) },
  'secret.createGroup': { action: 'secret.create_group', input: async () => ({ name: 'shared' }) },
  'secret.deleteGroup': { action: 'secret.delete_group', input: () => newGroup() },
  'secret.attachGroup': { action: 'secret.attach_group', input: () => newAttachment() },
  'secret.detachGroup': {
    action: 'secret.detach_group',
    input: async () => caller().secret.attachGroup(await newAttachment()),
  },
  'secret.rotateKey': { action: 'secret.rotate_key', input: async () => undefined },
  'serviceAccount.create': {
    action: 'service_account.create',
    input: async () => ({ name: 'Pipeline', role: 'deployer' }),
  },
  'serviceAccount.update': {
    action: 'service_account.update',
    input: async () => ({ ...(await newAccount('Updated')), role: 'viewer' }),
  },
  'serviceAccount.delete': {
    action: 'service_account.delete',
    input: async () => ({ ...(await newAccount('Deleted')), confirmName: 'Deleted' }),
  },
  'serviceAccount.createToken': {
    action: 'token.create',
    input: async () => ({ ...(await newAccount('Holder')), name: 'Nightly', permissions: ['app.read'] }),
  },
  'serviceAccount.revokeToken': {
    action: 'token.revoke',
    input: async () => {
      const account = await newAccount('Loser');
      const token = { ...account, name: 'Lost', permissions: ['app.read' as const] };
      return { tokenId: (await caller().serviceAccount.createToken(token)).id };
    },
  },
  'token.create': { action: 'token.create', input: async () => ({ name: 'Laptop', permissions: ['app.read'] }) },
  'token.revoke': {
    action: 'token.revoke',
    input: async () => ({ tokenId: (await caller().token.create({ name: 'Old', permissions: ['app.read'] })).id }),
  },
  'member.revokeToken': {
    action: 'token.revoke',
    input: async () => ({ tokenId: (await caller().token.create({ name: 'Leaked', permissions: ['app.read'] })).id }),
  },
  'server.enrol': { action: 'server.enrol', input: async () => ({ name: 'berlin' }) },
  'server.updateProxy': {
    action: 'server.update_proxy',
    input: async () => ({ serverId: api.world.serverId, proxy: { http3: false } }),
  },
  'server.upgrade': {
    action: 'server.upgrade',
    input: async () => {
      const { serverId } = api.world;
      await api.world.system(({ tx, clock }) =>
        tx.server.update({
          where: { id: serverId },
          data: {
            connectedGateway: 'here#1',
            lastSeenAt: clock.now(),
            capabilities: ['upgrade'],
            hostInfo: { arch: 'x86_64' },
          },
        }),
      );
      return { serverId };
    },
    after: async () => {
      const hex = testAgent.digest.slice('sha256:'.length);
      const { organizationId } = api.world;
      expect(await api.parts.artifacts.size({ organizationId, hex })).toBe(testAgent.sizeBytes);
      expect(await api.world.system(({ tx }) => tx.artifact.count({ where: { digest: testAgent.digest } }))).toBe(1);
    },
  },
  'server.delete': {
    action: 'server.delete',
    input: async () => {
      const serverId = newId('srv');
      const { organizationId } = api.world;
      await api.world.system(({ tx }) =>
        tx.server.create({ data: { id: serverId, organizationId, name: 'gone', publicKey: new Uint8Array(32) } }),
      );
      return { serverId, confirmName: 'gone' };
    },
  },
  'setup.claim': {
    action: 'setup.claim',
    asStranger: true,
    input: async () => {
      await api.world.system(({ tx }) => tx.member.deleteMany());
      const token = await api.setupToken();
      return { token, name: 'Claimer', email: 'claimer@example.test', password: 'correct horse battery' };
    },
  },
};

const byPath = apiRouter._def.procedures as unknown as Record<string, { readonly _def: { readonly type: string } }>;
const mutations = Object.keys(byPath).filter(
  (path) => byPath[path]?._def.type === 'mutation' && !path.startsWith('account.'),
);
// The last one leaves nobody behind who could call the others.
const ordered = Object.entries(calls).sort(([, a], [, b]) => Number(a.asStranger ?? 0) - Number(b.asStranger ?? 0));

/** Every event after the given one of the chain, oldest first. */
async function eventsAfter(sequence: bigint, organizationId: string) {
  return api.world.system(async ({ tx }) => {
    const links = await tx.auditLink.findMany({
      where: { organizationId, sequence: { gt: sequence } },
      orderBy: { sequence: 'asc' },
    });
    const events = await tx.auditEvent.findMany({ where: { id: { in: links.map(({ eventId }) => eventId) } } });
    return links.map((link) => ({ ...events.find(({ id }) => id === link.eventId), sequence: link.sequence }));
  });
}

test('each mutation of the router is called here', () => {
  expect(mutations.length).toBeGreaterThan(10);
  expect(Object.keys(calls).sort()).toEqual([...mutations].sort());
});

describe('written down with who, what and where from', () => {
  beforeEach(() => api.world.clock.forward(1000));

  test.each(ordered)('%s', async (path, { input, action, asStranger, after, by, at, logOf }) => {
    const given = await input();
    const person = by?.() ?? owner;
    const place = at?.() ?? { id: api.world.organizationId, slug: api.world.organizationSlug };
    const seen = (await eventsAfter(0n, place.id)).at(-1)?.sequence ?? 0n;
    const forwarded = { 'x-forwarded-for': '203.0.113.9, 10.0.0.2' };
    let target: unknown = api.caller(asStranger ? undefined : person.cookie, place.slug, forwarded);
    for (const part of path.split('.')) target = (target as Record<string, unknown>)[part];
    const answer = await (target as (input: unknown) => Promise<unknown>)(given);
    const events = logOf === undefined ? await eventsAfter(seen, place.id) : await eventsAfter(0n, logOf(answer));
    if (action === null) expect(events).toEqual([]);
    else expect(events.map((event) => event.action)).toContain(action);
    for (const event of events) {
      expect(event).toMatchObject({
        actorKind: 'member',
        ip: '203.0.113.9',
        targetId: expect.stringMatching(/^[a-z]+_/),
      });
      if (!asStranger) expect(event.actorId).toBe(person.userId);
    }
    await after?.();
  });
});

describe('the export', () => {
  let reader: { cookie: string };
  beforeAll(async () => {
    reader = await api.signUp('Reader', 'admin');
  });
  const download = (query: string, cookie = reader.cookie) =>
    answerAuditExport(
      api.parts,
      new Request(`${origin}/api/audit/export?organization=${api.world.organizationSlug}${query}`, {
        headers: { cookie },
      }),
    );

  test('streams what the filter lets through to whoever may read the log', async () => {
    const response = await download('&action=server&format=ndjson');
    expect(response.headers.get('content-disposition')).toContain(`audit-${api.world.organizationSlug}.ndjson`);
    const actions = (await response.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).action);
    expect(actions).toEqual(['server.enrol', 'server.update_proxy', 'server.upgrade', 'server.delete']);
    expect(await (await download('&format=csv')).text()).toMatch(/^sequence,at,/);
  });

  test('is closed to everybody else, and to formats that it does not have', async () => {
    const viewer = await api.signUp('Looker', 'viewer');
    expect((await download('', viewer.cookie)).status).toBe(403);
    expect((await download('', '')).status).toBe(401);
    expect((await download('&format=xml')).status).toBe(400);
  });
});
