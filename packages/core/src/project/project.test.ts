// Tests of projects: unique names, a first environment, and a deletion that spares everything in use.
import { newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createApp, createAppInputSchema } from '../app/index.ts';
import { createEnvironment, listEnvironments } from '../environment/index.ts';
import { createGrant, listGrants } from '../grant/index.ts';
import { ownerRights } from '../role/index.ts';
import { createSecretGroup, deleteSecretGroup } from '../secret/index.ts';
import { auditEventsOf, type TestWorld, testHosts, testPerson, testWorld } from '../testing/index.ts';
import { createToken, createTokenInputSchema, listTokens } from '../token/index.ts';
import { createProject, deleteProject, getProject, listProjects, updateProject } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  // Projects are ordered by age, and the clock of the tests stands still until it is moved forward.
  world.clock.forward(1);
});

const create = async (name: string) => {
  const created = await world.tenant((ctx) => createProject(ctx, { name }));
  // Environments are ordered by age too.
  world.clock.forward(1);
  return created;
};
const list = async () => (await world.tenant((ctx) => listProjects(ctx))).items;
const names = async () => (await list()).map(({ name }) => name);
const end = (projectId: Awaited<ReturnType<typeof create>>['projectId'], confirmName: string) =>
  world.tenant((ctx) => deleteProject(ctx, { projectId, confirmName }));

test('a new project starts with an environment, as the first one does', async () => {
  const { projectId } = await create('Shop');
  const items = await list();
  expect(items).toMatchObject([
    { name: 'Default', appCount: 0, environments: [{ name: 'Production', protected: false }] },
    { id: projectId, name: 'Shop', appCount: 0, environments: [{ name: 'Production', protected: false }] },
  ]);
  const environments = (await world.tenant((ctx) => listEnvironments(ctx))).items;
  expect(environments.find((each) => each.projectId === projectId)).toMatchObject({
    name: 'Production',
    isFirst: true,
  });
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({
    action: 'project.create',
    targetLabel: 'Shop',
    after: { name: 'Shop' },
  });
});

test('names are unique regardless of case, and may have equal slugs', async () => {
  const { projectId } = await create('Shop');
  await expect(create('shop')).rejects.toMatchObject({ code: 'project.name_taken' });
  await create('Shop!');
  const rename = (name: string) => world.tenant((ctx) => updateProject(ctx, { projectId, name }));
  await expect(rename('DEFAULT')).rejects.toMatchObject({ code: 'project.name_taken' });
  await rename('SHOP');
  await rename('Store');
  await create('Shop');
  expect(await names()).toEqual(expect.arrayContaining(['Default', 'Store', 'Shop!', 'Shop']));
  expect((await auditEventsOf(world)).findLast(({ action }) => action === 'project.update')).toMatchObject({
    before: { name: 'SHOP' },
    after: { name: 'Store' },
  });
});

test('concurrent calls create one project of a name', async () => {
  const outcomes = await Promise.allSettled([create('Shop'), create('Shop')]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(await names()).toEqual(['Default', 'Shop']);
});

test('an organization has a hundred projects at most', async () => {
  const { organizationId } = world;
  const more = Array.from({ length: 99 }, (_, at) => ({
    organizationId,
    id: newId('prj'),
    name: `P${at}`,
    slug: `p${at}`,
  }));
  await world.system(({ tx }) => tx.project.createMany({ data: more }));
  await expect(create('Shop')).rejects.toMatchObject({ code: 'project.too_many' });
});

test('a deletion includes the environments, grants and tokens of the project, and nothing of another one', async () => {
  const { projectId } = await create('Shop');
  const { environmentId } = await world.tenant((ctx) =>
    createEnvironment(ctx, { projectId, name: 'Staging', protected: true }),
  );
  const [kept] = await list();
  const { memberId } = await testPerson(db.database, world, 'Ada', 'viewer');
  for (const scope of [
    { kind: 'project' as const, projectId },
    { kind: 'environment' as const, environmentId },
    { kind: 'project' as const, projectId: kept?.id ?? projectId },
  ]) {
    await world.tenant((ctx) => createGrant(ctx, { memberId, role: 'developer', scope }, ownerRights));
  }
  for (const place of [{ projectId }, { environmentId }, { projectId: kept?.id }]) {
    const input = createTokenInputSchema.parse({ name: 'CI', permissions: ['app.read'], ...place });
    await world.tenant((ctx) => createToken(ctx, input, ownerRights));
  }
  expect(await world.tenant((ctx) => getProject(ctx, { projectId }))).toEqual({
    id: projectId,
    name: 'Shop',
    apps: [],
    secretGroups: [],
    environments: ['Production', 'Staging'],
    grantCount: 2,
    tokenCount: 2,
    deletedApps: [],
    isOnly: false,
  });
  await expect(end(projectId, 'shop')).rejects.toMatchObject({ code: 'project.confirm_mismatch' });

  expect(await end(projectId, ' Shop ')).toEqual({ projectId });
  expect(await names()).toEqual(['Default']);
  expect((await world.tenant((ctx) => listGrants(ctx, {}))).items.map(({ scopeName }) => scopeName)).toEqual([
    'Default',
  ]);
  const tokens = (await world.tenant((ctx) => listTokens(ctx, ownerRights))).items;
  expect(tokens.map((token) => token.projectId)).toEqual([kept?.id]);
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({
    action: 'project.delete',
    before: { name: 'Shop', environments: ['Production', 'Staging'], grants: 2, tokens: 2 },
  });
});

test('a project with an app or a shared group, or the only one, cannot be deleted', async () => {
  const [first] = await list();
  if (first === undefined) throw new Error('a project was expected');
  await expect(end(first.id, 'Default')).rejects.toMatchObject({ code: 'project.only' });
  const { projectId } = await create('Shop');
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'shared', projectId }));
  await expect(end(projectId, 'Shop')).rejects.toMatchObject({
    code: 'project.not_empty',
    details: { secretGroups: ['shared'] },
  });
  await world.tenant((ctx) => deleteSecretGroup(ctx, { groupId }));
  await world.createApp('Cart');
  await expect(end(first.id, 'Default')).rejects.toMatchObject({
    code: 'project.not_empty',
    details: { apps: ['Cart'] },
  });

  await end(projectId, 'Shop');
  // The deleted group still has the secrets that releases may run with.
  const group = await world.system(({ tx }) => tx.secretGroup.findFirstOrThrow({ where: { id: groupId } }));
  expect(group.projectId).toBe(first.id);
  await expect(end(projectId, 'Shop')).rejects.toMatchObject({ code: 'project.not_found' });
});

test('a reader sees the projects and environments that their grants cover, and counts only the apps there', async () => {
  await world.createApp('Cart');
  const { projectId } = await create('Shop');
  const [environmentId, other] = [
    (await list()).find(({ id }) => id === projectId)?.environments[0]?.id ?? '',
    (await world.tenant((ctx) => createEnvironment(ctx, { projectId, name: 'Staging', protected: false })))
      .environmentId,
  ];
  const input = createAppInputSchema.parse({
    name: 'Desk',
    source: { kind: 'git', repositoryUrl: 'https://git.example.test/desk.git' },
    environmentId,
    serverIds: [world.serverId],
    firstDeploy: 'none',
  });
  await world.tenant((ctx) => createApp(ctx, input, { hosts: testHosts, keys: world.keys }));
  const seen = async (places: { projectIds?: string[]; environmentIds?: string[] }) =>
    (
      await world.tenant((ctx) =>
        listProjects(ctx, { everywhere: false, projectIds: [], environmentIds: [], ...places }),
      )
    ).items.map(({ name, appCount, environments }) => [name, appCount, environments.map((each) => each.name).join()]);
  expect(await seen({ projectIds: [projectId] })).toEqual([['Shop', 1, 'Production,Staging']]);
  expect(await seen({ environmentIds: [environmentId] })).toEqual([['Shop', 1, 'Production']]);
  expect(await seen({ environmentIds: [other] })).toEqual([['Shop', 0, 'Staging']]);
  expect(await seen({ projectIds: [parseId('prj', newId('prj'))] })).toEqual([]);
});
