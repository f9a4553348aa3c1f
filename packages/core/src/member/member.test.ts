import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGrant, deleteGrant } from '../grant/index.ts';
import { createInvitation, listInvitations } from '../invitation/index.ts';
import { permissionsOf, rightsOf, wholeOrganization } from '../role/index.ts';
import { auditOf, rolesOf, type TestPerson, type TestWorld, testPerson, testWorld } from '../testing/index.ts';
import { deleteMember, leaveOrganization, listMembers, transferOrganization, updateMember } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let ada: TestPerson;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  // The world's own owner would be a second one.
  await world.system(({ tx }) => tx.member.deleteMany());
  ada = await testPerson(db.database, world, 'Ada', 'owner');
});
afterEach(() => db.drop());

test('the last owner can neither leave nor be removed nor made less', async () => {
  const system = <T>(run: Parameters<typeof ada.as<T>>[0]) =>
    ada.as((ctx, rights) => run({ ...ctx, actor: { kind: 'system', reason: 'a test' } }, rights));
  const refused = { code: 'member.last_owner' };
  await expect(ada.as(leaveOrganization)).rejects.toMatchObject(refused);
  await expect(
    ada.as((ctx, rights) => updateMember(ctx, { memberId: ada.memberId, role: 'admin' }, rights)),
  ).rejects.toMatchObject(refused);
  await expect(system((ctx, rights) => deleteMember(ctx, { memberId: ada.memberId }, rights))).rejects.toMatchObject(
    refused,
  );
  expect(await rolesOf(world)).toEqual(new Map([[ada.userId, 'owner']]));
});

test('of two owners who leave at the same time, one stays', async () => {
  for (let round = 0; round < 5; round += 1) {
    const bob = await testPerson(db.database, world, 'Bob', 'owner');
    const gone = await Promise.allSettled([ada.as(leaveOrganization), bob.as(leaveOrganization)]);
    expect(gone.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const [stayed] = [...(await rolesOf(world))];
    expect(stayed?.[1]).toBe('owner');
    if (stayed?.[0] === bob.userId) ada = bob;
  }
});

test('of two owners who demote each other at the same time, one is still owner', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'owner');
  const done = await Promise.allSettled([
    ada.as((ctx, rights) => updateMember(ctx, { memberId: bob.memberId, role: 'viewer' }, rights)),
    bob.as((ctx, rights) => updateMember(ctx, { memberId: ada.memberId, role: 'viewer' }, rights)),
  ]);
  expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const roles = [...(await rolesOf(world)).values()].sort();
  expect(roles).toEqual(['owner', 'viewer']);
});

test('no member assigns or removes a role that exceeds their own', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'admin');
  const cyd = await testPerson(db.database, world, 'Cyd', 'viewer');
  const refused = { code: 'role.owner_only' };
  const give = (memberId: TestPerson['memberId'], role: 'owner' | 'developer') =>
    bob.as((ctx, rights) => updateMember(ctx, { memberId, role }, rights));
  await expect(give(cyd.memberId, 'owner')).rejects.toMatchObject(refused);
  await expect(give(bob.memberId, 'owner')).rejects.toMatchObject(refused);
  await expect(give(ada.memberId, 'developer')).rejects.toMatchObject(refused);
  await expect(bob.as((ctx, rights) => deleteMember(ctx, { memberId: ada.memberId }, rights))).rejects.toMatchObject(
    refused,
  );
  await give(cyd.memberId, 'developer');
  expect((await rolesOf(world)).get(cyd.userId)).toBe('developer');
  // The actor's current role counts, not the one at the start of the request.
  await ada.as((ctx, rights) => updateMember(ctx, { memberId: bob.memberId, role: 'viewer' }, rights));
  await expect(give(cyd.memberId, 'developer')).rejects.toMatchObject({ code: 'permission.denied' });
});

test('a member whose grants exceed the remover’s rights cannot be removed', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'viewer');
  const cyd = await testPerson(db.database, world, 'Cyd', 'viewer');
  const mayRemove = rightsOf('viewer', [
    { ...wholeOrganization, permissions: [...permissionsOf('viewer'), 'member.write'] },
  ]);
  const { grantId } = await ada.as((ctx, rights) =>
    createGrant(ctx, { memberId: bob.memberId, role: 'admin', scope: { kind: 'organization' } }, rights),
  );
  const remove = () => cyd.as((ctx) => deleteMember(ctx, { memberId: bob.memberId }, mayRemove));
  await expect(remove()).rejects.toMatchObject({ code: 'role.beyond_own' });
  await ada.as((ctx, rights) => deleteGrant(ctx, { grantId }, rights));
  await remove();
  expect((await rolesOf(world)).has(bob.userId)).toBe(false);
});

test('a demoted member’s invitations above their role are revoked, the others stay', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'admin');
  const invite = (person: TestPerson, role: 'admin' | 'viewer' | 'developer') =>
    person.as((ctx, rights) => createInvitation(ctx, { role }, rights));
  const open = async () =>
    (await ada.as(listInvitations)).map(({ role, invitedBy }) => `${role} by ${invitedBy}`).sort();
  await invite(bob, 'admin');
  await invite(bob, 'viewer');
  await invite(ada, 'admin');
  await ada.as((ctx, rights) => updateMember(ctx, { memberId: bob.memberId, role: 'deployer' }, rights));
  // A deployer has a viewer's permissions, but may not invite one again.
  expect(await open()).toEqual(['admin by Ada', 'viewer by Bob']);
  // Also when a member lowers their own role.
  const cyd = await testPerson(db.database, world, 'Cyd', 'admin');
  await invite(cyd, 'developer');
  await cyd.as((ctx, rights) => updateMember(ctx, { memberId: cyd.memberId, role: 'viewer' }, rights));
  expect(await open()).toEqual(['admin by Ada', 'viewer by Bob']);
  const events = await world.system(({ tx }) => tx.auditEvent.findMany({ where: { action: 'invitation.revoke' } }));
  expect(events.map(({ before }) => before)).toEqual([
    { email: null, role: 'admin' },
    { email: null, role: 'developer' },
  ]);
});

test('a removed member’s invitations are revoked', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'admin');
  await bob.as((ctx, rights) => createInvitation(ctx, { role: 'viewer' }, rights));
  await ada.as((ctx, rights) => createInvitation(ctx, { role: 'viewer' }, rights));
  await expect(bob.as((ctx, rights) => deleteMember(ctx, { memberId: bob.memberId }, rights))).rejects.toMatchObject({
    code: 'member.yourself',
  });
  await ada.as((ctx, rights) => deleteMember(ctx, { memberId: bob.memberId }, rights));
  expect((await ada.as(listInvitations)).map(({ invitedBy }) => invitedBy)).toEqual(['Ada']);
  expect((await ada.as(listMembers)).items.map(({ name }) => name)).toEqual(['Ada']);
});

test('an owner transfers the organization by typing its name', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'developer');
  const transfer = (person: TestPerson, heir: TestPerson, confirmName = 'acme') =>
    person.as((ctx) => transferOrganization(ctx, { memberId: heir.memberId, confirmName }));
  await expect(transfer(ada, bob, 'acne')).rejects.toMatchObject({ code: 'organization.confirm_mismatch' });
  await expect(transfer(ada, ada)).rejects.toMatchObject({ code: 'member.yourself' });
  await expect(transfer(bob, bob)).rejects.toMatchObject({ code: 'member.yourself' });
  await expect(transfer(bob, ada)).rejects.toMatchObject({ code: 'permission.denied' });
  await transfer(ada, bob);
  expect(await rolesOf(world)).toEqual(
    new Map([
      [ada.userId, 'admin'],
      [bob.userId, 'owner'],
    ]),
  );
  expect(await auditOf(world)).toContain('organization.transfer');
});

test('leaving and removing are written down with the role that ended', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'developer');
  await bob.as(leaveOrganization);
  const events = await world.system(({ tx }) => tx.auditEvent.findMany({ where: { action: 'organization.leave' } }));
  expect(events).toMatchObject([{ actorUserId: bob.userId, before: { role: 'developer' } }]);
});
