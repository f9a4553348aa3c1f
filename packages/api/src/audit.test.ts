// Every change is written down: each mutation of the router is called with an input that it accepts, and must leave an
// event of its own. A new mutation without an entry here does not compile.
import { newId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AppRouter, answerAuditExport } from './index.ts';
import { apiRouter } from './router.ts';
import { origin, startTestApi, type TestApi } from './testing/index.ts';

type Features = AppRouter['_def']['record'];
type MutationsOf<Feature extends keyof Features> = {
  [Verb in keyof Features[Feature] & string]: Features[Feature][Verb] extends { _def: { type: 'mutation' } }
    ? `${Feature}.${Verb}`
    : never;
}[keyof Features[Feature] & string];
type Mutation = { [Feature in keyof Features]: MutationsOf<Feature> }[keyof Features];

interface Call {
  /** Makes what the input speaks of. */
  input(): Promise<unknown>;
  /** The action it is written down as. */
  readonly action: string;
  /** Puts back what would be in the others' way. */
  after?(): Promise<unknown>;
  /** For procedures that no member calls. */
  readonly asStranger?: true;
}

let api: TestApi;
let owner: { cookie: string; userId: string };
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
async function newGrant() {
  const helper = await api.signUp(`Helper${++appsMade}`, 'viewer');
  const member = (await caller().member.list()).items.find(({ userId }) => userId === helper.userId);
  if (member === undefined) throw new Error('a member was expected');
  return { memberId: member.id, role: 'developer' as const, scope: { kind: 'organization' as const } };
}

const calls: Readonly<Record<Mutation, Call>> = {
  'app.create': {
    action: 'app.create',
    input: async () => ({
      name: 'Made',
      repositoryUrl: 'https://git.example.test/shop.git',
      serverId: api.world.serverId,
    }),
  },
  'app.update': { action: 'app.update', input: async () => ({ appId: (await newApp()).appId, healthPath: '/up' }) },
  'app.delete': {
    action: 'app.delete',
    input: async () => {
      const { appId } = await newApp();
      return { appId, confirmName: `App ${appsMade}` };
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
  'deployment.cancel': {
    action: 'deployment.cancel',
    input: async () => ({ deploymentId: (await newApp({ deployNow: true })).deploymentId }),
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
  'deployment.approve': { action: 'deployment.approve', input: () => awaitingDeployment() },
  'deployment.refuse': { action: 'deployment.refuse', input: () => awaitingDeployment() },
  'environment.update': {
    action: 'environment.update',
    input: async () => ({ environmentId: await environmentId(), protected: true }),
    after: () => setProtected(false),
  },
  'grant.create': { action: 'grant.create', input: () => newGrant() },
  'grant.delete': {
    action: 'grant.delete',
    input: async () => ({ grantId: (await caller().grant.create(await newGrant())).grantId }),
  },
  'role.create': { action: 'role.create', input: async () => ({ name: 'Reader', permissions: ['app.read'] }) },
  'role.update': { action: 'role.update', input: async () => ({ ...(await newRole()), name: 'Renamed' }) },
  'role.delete': { action: 'role.delete', input: () => newRole() },
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
  'server.enrol': { action: 'server.enrol', input: async () => ({ name: 'berlin' }) },
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
const mutations = Object.keys(byPath).filter((path) => byPath[path]?._def.type === 'mutation');
// The last one leaves nobody behind who could call the others.
const ordered = Object.entries(calls).sort(([, a], [, b]) => Number(a.asStranger ?? 0) - Number(b.asStranger ?? 0));

/** Every event after the given one of the chain, oldest first. */
async function eventsAfter(sequence: bigint) {
  return api.world.system(async ({ tx }) => {
    const links = await tx.auditLink.findMany({
      where: { organizationId: api.world.organizationId, sequence: { gt: sequence } },
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

  test.each(ordered)('%s', async (path, { input, action, asStranger, after }) => {
    const given = await input();
    const seen = (await eventsAfter(0n)).at(-1)?.sequence ?? 0n;
    const forwarded = { 'x-forwarded-for': '203.0.113.9, 10.0.0.2' };
    let target: unknown = api.caller(asStranger ? undefined : owner.cookie, api.world.organizationSlug, forwarded);
    for (const part of path.split('.')) target = (target as Record<string, unknown>)[part];
    await (target as (input: unknown) => Promise<unknown>)(given);
    const events = await eventsAfter(seen);
    expect(events.map((event) => event.action)).toContain(action);
    for (const event of events) {
      expect(event).toMatchObject({
        actorKind: 'member',
        ip: '203.0.113.9',
        targetId: expect.stringMatching(/^[a-z]+_/),
      });
      if (!asStranger) expect(event.actorId).toBe(owner.userId);
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
    expect(actions).toEqual(['server.enrol', 'server.delete']);
    expect(await (await download('&format=csv')).text()).toMatch(/^sequence,at,/);
  });

  test('is closed to everybody else, and to formats that it does not have', async () => {
    const viewer = await api.signUp('Looker', 'viewer');
    expect((await download('', viewer.cookie)).status).toBe(403);
    expect((await download('', '')).status).toBe(401);
    expect((await download('&format=xml')).status).toBe(400);
  });
});
