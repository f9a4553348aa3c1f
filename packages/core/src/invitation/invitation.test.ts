import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGrant, deleteGrant } from '../grant/index.ts';
import { createRole, permissionsOf, rightsOf, updateRole, wholeOrganization } from '../role/index.ts';
import {
  auditOf,
  rolesOf,
  type TestPerson,
  type TestWorld,
  testAccount,
  testPerson,
  testWorld,
} from '../testing/index.ts';
import {
  acceptInvitation,
  claimsMax,
  createInvitation,
  invitationLifetimeMs,
  invitationMail,
  invitationsPerHourMax,
  listInvitations,
  readInvitation,
  renewalGapMs,
  requireInvitation,
  revokeInvitation,
  rotateInvitation,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let ada: TestPerson;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  ada = await testPerson(db.database, world, 'Ada', 'owner');
});
afterEach(() => db.drop());

const invite = (email?: string) =>
  ada.as((ctx, rights) =>
    createInvitation(ctx, { role: 'developer', ...(email === undefined ? {} : { email }) }, rights),
  );
const accept = (token: string, userId: string) =>
  world.system((ctx) => acceptInvitation(ctx, { token, userId, ip: null }));
const tokenInvalid = { code: 'invitation.token_invalid' };

test('a link lets one person in, once, with the role it names', async () => {
  const { token } = await invite();
  expect(await world.system((ctx) => readInvitation(ctx, { token }))).toMatchObject({
    organizationName: 'acme',
    role: 'developer',
    invitedBy: 'Ada',
    email: null,
  });
  const people = await Promise.all(['Bob', 'Cyd', 'Dan', 'Eve'].map((name) => testAccount(world, name)));
  const joined = await Promise.allSettled(people.map(({ userId }) => accept(token, userId)));
  expect(joined.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const each of joined) if (each.status === 'rejected') expect(each.reason).toMatchObject(tokenInvalid);
  const roles = await rolesOf(world);
  expect(people.map(({ userId }) => roles.get(userId)).filter((role) => role !== undefined)).toEqual(['developer']);
  expect(await ada.as(listInvitations)).toEqual([]);
  await expect(world.system((ctx) => readInvitation(ctx, { token }))).rejects.toMatchObject(tokenInvalid);
  expect(await auditOf(world)).toEqual(expect.arrayContaining(['invitation.create', 'invitation.accept']));
});

test('the token is stored as a hash only, and no audit row holds it', async () => {
  const { token } = await invite('next@example.test');
  const rows = await world.system(({ tx }) => Promise.all([tx.invitation.findMany(), tx.auditEvent.findMany()]));
  expect(token).toMatch(/^invite_[\w-]{32}$/);
  expect(JSON.stringify(rows)).not.toContain(token);
});

test('an invitation for an address lets only that address in', async () => {
  const bob = await testAccount(world, 'Bob');
  const eve = await testAccount(world, 'Eve');
  const { token } = await invite(bob.email);
  await expect(accept(token, eve.userId)).rejects.toMatchObject({ code: 'invitation.other_address' });
  await expect(world.system((ctx) => requireInvitation(ctx, { token, email: eve.email }))).rejects.toMatchObject({
    code: 'invitation.other_address',
  });
  // A refused person does not use up the invitation.
  expect(await accept(token, bob.userId)).toEqual({ organizationSlug: 'acme' });
});

test('it ends after a week, when it is taken back, and when it is renewed', async () => {
  const { userId } = await testAccount(world, 'Bob');
  const old = await invite();
  world.clock.forward(invitationLifetimeMs);
  await expect(accept(old.token, userId)).rejects.toMatchObject(tokenInvalid);
  expect(await ada.as(listInvitations)).toMatchObject([{ id: old.invitationId, expired: true }]);

  const renewed = await ada.as((ctx, rights) => rotateInvitation(ctx, { invitationId: old.invitationId }, rights));
  await expect(
    ada.as((ctx, rights) => rotateInvitation(ctx, { invitationId: old.invitationId }, rights)),
  ).rejects.toMatchObject({
    code: 'invitation.too_soon',
  });
  await expect(accept(old.token, userId)).rejects.toMatchObject(tokenInvalid);
  world.clock.forward(renewalGapMs);
  const again = await ada.as((ctx, rights) => rotateInvitation(ctx, { invitationId: old.invitationId }, rights));
  await expect(accept(renewed.token, userId)).rejects.toMatchObject(tokenInvalid);

  await ada.as((ctx) => revokeInvitation(ctx, { invitationId: old.invitationId }));
  await expect(accept(again.token, userId)).rejects.toMatchObject(tokenInvalid);
  await expect(ada.as((ctx) => revokeInvitation(ctx, { invitationId: old.invitationId }))).rejects.toMatchObject({
    code: 'invitation.not_found',
  });
});

test('an invitation never exceeds its sender’s role, nor invites a member', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'admin');
  await expect(bob.as((ctx, rights) => createInvitation(ctx, { role: 'owner' }, rights))).rejects.toMatchObject({
    code: 'role.owner_only',
  });
  await ada.as((ctx, rights) => createInvitation(ctx, { role: 'owner' }, rights));
  await expect(invite(bob.email)).rejects.toMatchObject({ code: 'invitation.already_member' });
  await invite('next@example.test');
  await expect(invite('next@example.test')).rejects.toMatchObject({ code: 'invitation.already_invited' });
  const { token } = await invite();
  await expect(accept(token, bob.userId)).rejects.toMatchObject({ code: 'invitation.already_member' });
});

test('an invitation falls with the grant or the permissions of a role that stood behind it', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'viewer');
  const { roleId } = await ada.as((ctx, rights) =>
    createRole(ctx, { name: 'Recruiter', permissions: ['member.invite', ...permissionsOf('developer')] }, rights),
  );
  const grant = () =>
    ada.as((ctx, rights) =>
      createGrant(ctx, { memberId: bob.memberId, role: roleId, scope: { kind: 'organization' } }, rights),
    );
  const recruiter = rightsOf('viewer', [{ ...wholeOrganization, permissions: permissionsOf('developer') }]);
  const inviteByBob = () => bob.as((ctx) => createInvitation(ctx, { role: 'developer' }, recruiter));

  const { grantId } = await grant();
  await inviteByBob();
  await ada.as((ctx, rights) => deleteGrant(ctx, { grantId }, rights));
  expect(await ada.as(listInvitations)).toEqual([]);

  await grant();
  const { token } = await inviteByBob();
  await ada.as((ctx, rights) => updateRole(ctx, { roleId, permissions: ['app.read'] }, rights));
  expect(await ada.as(listInvitations)).toEqual([]);
  const { userId } = await testAccount(world, 'Eve');
  await expect(accept(token, userId)).rejects.toMatchObject(tokenInvalid);
});

test('no one joins with a role that their inviter could not assign now, for any reason', async () => {
  const bob = await testPerson(db.database, world, 'Bob', 'admin');
  const { token } = await bob.as((ctx, rights) => createInvitation(ctx, { role: 'admin' }, rights));
  await world.system(({ tx }) => tx.member.update({ where: { id: bob.memberId }, data: { role: 'viewer' } }));
  const { userId } = await testAccount(world, 'Eve');
  await expect(accept(token, userId)).rejects.toMatchObject(tokenInvalid);
  await world.system(({ tx }) => tx.member.update({ where: { id: bob.memberId }, data: { role: 'admin' } }));
  await accept(token, userId);
});

test('an organization makes so many invitations an hour, taken back or not', async () => {
  for (let made = 0; made < invitationsPerHourMax; made += 1) {
    const { invitationId } = await invite();
    await ada.as((ctx) => revokeInvitation(ctx, { invitationId }));
  }
  await expect(invite()).rejects.toMatchObject({ code: 'invitation.too_many' });
  world.clock.forward(60 * 60_000);
  await invite();
});

test('a token is good for a few tries at an account', async () => {
  const { token } = await invite();
  const attempt = () => world.system((ctx) => requireInvitation(ctx, { token, email: 'x@example.test' }));
  for (let tries = 0; tries < claimsMax; tries += 1) expect(await attempt()).toMatchObject({ allowed: true });
  expect(await attempt()).toMatchObject({ allowed: false });
});

test('the mail names the sender, the organization and the expiry', () => {
  const mail = invitationMail({
    to: 'bob@example.test',
    organizationName: 'Acme',
    inviterName: 'Ada',
    expiresAt: new Date('2026-11-29T10:20:30Z'),
    url: 'https://fairlead.example.test/invitation#token=x',
  });
  expect(mail.subject).toContain('Acme');
  expect(mail.paragraphs.join(' ')).toMatch(/Ada.*Acme.*2026-11-29 10:20 UTC/);
});
