// Tests for custom roles, grants, and the limits of role assignment.
import { newId, parseId } from '@fairlead/contract/ids';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGrant, deleteGrant, type GrantScope, listGrants } from '../grant/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { findActiveMember } from '../member/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import {
  createRole,
  deleteRole,
  listRoles,
  may,
  ownerRights,
  type Permission,
  permissionsOf,
  requireAnotherOwner,
  requireMayAssign,
  rightsOf,
  updateRole,
  wholeOrganization,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let foreign: OrganizationRows;
let projectId: string;
let environmentId: string;
const admin = rightsOf('admin', [{ ...wholeOrganization, permissions: permissionsOf('admin') }]);
const developer = rightsOf('developer', [{ ...wholeOrganization, permissions: permissionsOf('developer') }]);

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  foreign = await insertOrganizationRows(db.database, 'rival');
  const environment = await world.tenant(({ tx }) => tx.environment.findFirstOrThrow());
  environmentId = environment.id;
  projectId = environment.projectId;
});
afterAll(() => db.drop());

async function join(role: string): Promise<{ memberId: `mem_${string}`; userId: string }> {
  const memberId = newId('mem');
  const userId = newId('usr');
  await world.system(async ({ tx }) => {
    await tx.user.create({ data: { id: userId, name: 'Joined', email: `${userId.toLowerCase()}@example.test` } });
    await tx.member.create({ data: { id: memberId, organizationId: world.organizationId, userId, role } });
  });
  return { memberId: memberId as never, userId };
}

const rightsNow = async (userId: string) => {
  const found = await world.system((ctx) =>
    findActiveMember(ctx, { userId, organizationSlug: world.organizationSlug }),
  );
  if (found === null) throw new Error('the member is gone');
  return found.rights;
};
const make = (name: string, permissions: Permission[]) =>
  world.tenant((ctx) => createRole(ctx, { name, permissions }, ownerRights));
const grant = (memberId: string, role: string, scope: GrantScope, by = ownerRights) =>
  world.tenant((ctx) => createGrant(ctx, { memberId: parseId('mem', memberId), role: role as never, scope }, by));

test('a custom role’s permissions apply to all of its holders, immediately', async () => {
  const { roleId } = await make('Release manager', ['app.read', 'deployment.write']);
  const { userId } = await join(roleId);
  expect([...(await rightsNow(userId)).organization].sort()).toEqual(['app.read', 'deployment.write']);
  await world.tenant((ctx) => updateRole(ctx, { roleId, permissions: ['app.read'] }, ownerRights));
  expect([...(await rightsNow(userId)).organization]).toEqual(['app.read']);
  const { custom } = await world.tenant(listRoles);
  expect(custom.find(({ id }) => id === roleId)).toMatchObject({ name: 'Release manager', holders: 1 });
});

test('a role that is held stays, and one that is not goes', async () => {
  const { roleId } = await make('Passing', ['app.read']);
  const { memberId } = await join('viewer');
  const { grantId } = await grant(memberId, roleId, { kind: 'organization' });
  const remove = () => world.tenant((ctx) => deleteRole(ctx, { roleId }));
  await expect(remove()).rejects.toMatchObject({ code: 'role.in_use' });
  await world.tenant((ctx) => deleteGrant(ctx, { grantId }, ownerRights));
  await remove();
  await expect(remove()).rejects.toMatchObject({ code: 'role.not_found' });
});

test('a member with a deleted role has no permissions', async () => {
  const { userId } = await join(newId('rol'));
  expect((await rightsNow(userId)).organization.size).toBe(0);
});

test('a name is given once', async () => {
  const { roleId } = await make('Twice', []);
  await expect(make('Twice', [])).rejects.toMatchObject({ code: 'role.name_taken' });
  await make('Once', []);
  const rename = world.tenant((ctx) => updateRole(ctx, { roleId, name: 'Once' }, ownerRights));
  await expect(rename).rejects.toMatchObject({ code: 'role.name_taken' });
});

test('a grant holds in its project or environment only', async () => {
  const { memberId, userId } = await join('viewer');
  await grant(memberId, 'developer', { kind: 'project', projectId: parseId('prj', projectId) });
  world.clock.forward(1);
  await grant(memberId, 'deployer', { kind: 'environment', environmentId: parseId('env', environmentId) });
  const rights = await rightsNow(userId);
  expect(may(rights, 'app.write')).toBe(false);
  expect(may(rights, 'app.write', { projectId, environmentId: null })).toBe(true);
  expect(may(rights, 'deployment.approve', { projectId, environmentId: null })).toBe(false);
  expect(may(rights, 'deployment.approve', { projectId, environmentId })).toBe(true);
  const twice = grant(memberId, 'developer', { kind: 'project', projectId: parseId('prj', projectId) });
  await expect(twice).rejects.toMatchObject({ code: 'grant.exists' });
  const { items } = await world.tenant((ctx) => listGrants(ctx, { memberId: memberId as never }));
  expect(items.map(({ role, scope, scopeName }) => [role, scope.kind, scopeName])).toEqual([
    ['developer', 'project', 'Default'],
    ['deployer', 'environment', 'Default / Production'],
  ]);
});

test('no member assigns, removes or makes a role with permissions that they lack', async () => {
  const { memberId } = await join('viewer');
  const beyond = { code: 'role.beyond_own' };
  await expect(grant(memberId, 'admin', { kind: 'organization' }, developer)).rejects.toMatchObject(beyond);
  const made = world.tenant((ctx) => createRole(ctx, { name: 'Sly', permissions: ['server.delete'] }, developer));
  await expect(made).rejects.toMatchObject(beyond);
  const { roleId } = await make('Strong', ['server.delete', 'app.read']);
  const change = (permissions: Permission[]) =>
    world.tenant((ctx) => updateRole(ctx, { roleId, permissions }, developer));
  await expect(change(['app.read'])).rejects.toMatchObject(beyond);
  await change(['server.delete', 'app.read', 'app.write']);
  const { grantId } = await grant(memberId, 'admin', { kind: 'organization' });
  const taken = world.tenant((ctx) => deleteGrant(ctx, { grantId }, developer));
  await expect(taken).rejects.toMatchObject(beyond);
});

test('rights in an environment are enough to give them there, and nowhere else', async () => {
  const { memberId } = await join('viewer');
  const here = rightsOf('viewer', [{ projectId, environmentId, permissions: permissionsOf('deployer') }]);
  await expect(grant(memberId, 'deployer', { kind: 'organization' }, here)).rejects.toMatchObject({
    code: 'role.beyond_own',
  });
  await grant(memberId, 'deployer', { kind: 'environment', environmentId: parseId('env', environmentId) }, here);
});

test('only an owner makes an owner or ends one', async () => {
  const check = (change: Parameters<typeof requireMayAssign>[2], by = admin) =>
    world.tenant((ctx) => requireMayAssign(ctx, by, change));
  await expect(check({ from: 'viewer', to: 'owner' })).rejects.toMatchObject({ code: 'role.owner_only' });
  await expect(check({ from: 'owner', to: null })).rejects.toMatchObject({ code: 'role.owner_only' });
  await check({ from: 'viewer', to: 'admin' });
  await check({ from: 'owner', to: 'owner' }, ownerRights);
});

test('the last owner stays one', async () => {
  const owner = await world.tenant(({ tx }) => tx.member.findFirstOrThrow({ where: { role: 'owner' } }));
  const check = () => world.tenant((ctx) => requireAnotherOwner(ctx, owner.id));
  await expect(check()).rejects.toMatchObject({ code: 'member.last_owner' });
  await join('owner');
  await check();
});

test('ids of another organization are unknown', async () => {
  const { memberId } = await join('viewer');
  const role = parseId('rol', foreign.roleId);
  const attempts: Record<string, (ctx: Ctx) => Promise<unknown>> = {
    'role.not_found': (ctx) => updateRole(ctx, { roleId: role, name: 'Stolen' }, ownerRights),
    'member.not_found': (ctx) => listGrants(ctx, { memberId: parseId('mem', foreign.memberId) }),
    'grant.not_found': (ctx) => deleteGrant(ctx, { grantId: parseId('grt', foreign.grantId) }, ownerRights),
  };
  for (const [code, attempt] of Object.entries(attempts)) {
    await expect(world.tenant(attempt)).rejects.toMatchObject({ code });
  }
  await expect(world.tenant((ctx) => deleteRole(ctx, { roleId: role }))).rejects.toMatchObject({
    code: 'role.not_found',
  });
  const scopes: [GrantScope, string][] = [
    [{ kind: 'project', projectId: parseId('prj', foreign.projectId) }, 'project.not_found'],
    [{ kind: 'environment', environmentId: parseId('env', foreign.environmentId) }, 'environment.not_found'],
  ];
  for (const [scope, code] of scopes) await expect(grant(memberId, 'viewer', scope)).rejects.toMatchObject({ code });
  await expect(grant(memberId, role, { kind: 'organization' })).rejects.toMatchObject({ code: 'role.not_found' });
  await expect(grant(foreign.memberId, 'viewer', { kind: 'organization' })).rejects.toMatchObject({
    code: 'member.not_found',
  });
});

test('every change is in the audit log', async () => {
  const { roleId } = await make('Written down', ['app.read']);
  await world.tenant((ctx) => updateRole(ctx, { roleId, permissions: [] }, ownerRights));
  await world.tenant((ctx) => deleteRole(ctx, { roleId }));
  const events = await world.tenant(({ tx }) => tx.auditEvent.findMany({ where: { targetId: roleId } }));
  expect(events.map(({ action }) => action).sort()).toEqual(['role.create', 'role.delete', 'role.update']);
  expect(events.find(({ action }) => action === 'role.update')).toMatchObject({
    before: { name: 'Written down', permissions: ['app.read'] },
    after: { name: 'Written down', permissions: [] },
  });
});
