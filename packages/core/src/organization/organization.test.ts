import { readFileSync } from 'node:fs';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deleteApp } from '../app/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { findActiveMember } from '../member/index.ts';
import { auditOf, type TestPerson, type TestWorld, testAccount, testPerson, testWorld } from '../testing/index.ts';
import {
  claimEndingOrganizations,
  createOrganization,
  deleteOrganization,
  deletionDelayMs,
  emptyingMs,
  emptyOrganization,
  endOrganization,
  listMemberships,
  ownedMax,
  restoreOrganization,
  updateOrganization,
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

const make = (userId: string, name: string) =>
  world.system((ctx) => createOrganization(ctx, { name, userId, ip: '192.0.2.1' }));
/** The tests' server belongs to the control plane, and that organization is never deleted. */
const makeServerOrdinary = () => world.system(({ tx }) => tx.server.updateMany({ data: { isLocal: false } }));
const asWorker = <T>(run: (ctx: Ctx) => Promise<T>) =>
  ada.as((ctx) => run({ ...ctx, actor: { kind: 'system', reason: 'organization.sweep' } }));

test('any signed-in person creates an organization, with a project and an environment', async () => {
  const { userId } = await testAccount(world, 'Bob');
  const made = await Promise.all([make(userId, 'Ropes & Rings'), make(userId, 'Ropes & Rings'), make(userId, 'Setup')]);
  expect(made.map(({ slug }) => slug).sort()).toEqual(['ropes-rings', 'ropes-rings-2', 'setup-organization']);
  const memberships = await world.system((ctx) => listMemberships(ctx, { userId }));
  expect(memberships.map(({ role }) => role)).toEqual(['owner', 'owner', 'owner']);
  const environments = await world.system(({ tx }) =>
    tx.environment.findMany({ where: { organizationId: { in: made.map(({ id }) => id) } } }),
  );
  expect(environments.map(({ slug }) => slug)).toEqual(['production', 'production', 'production']);
});

test('one person owns so many and no more', async () => {
  const { userId } = await testAccount(world, 'Bob');
  for (let made = 0; made < ownedMax - 1; made += 1) await make(userId, 'Heap');
  const last = await Promise.allSettled([make(userId, 'One'), make(userId, 'Two')]);
  expect(last.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('name and address change; an address that is taken or the dashboard’s own does not', async () => {
  await make(ada.userId, 'Rival');
  const update = (input: Parameters<typeof updateOrganization>[1]) =>
    ada.as((ctx) => updateOrganization(ctx, input, { hasSecondFactor: false }));
  expect(await update({ name: 'Acme Ltd', slug: 'acme-ltd' })).toMatchObject({ slug: 'acme-ltd' });
  await expect(update({ slug: 'rival' })).rejects.toMatchObject({ code: 'organization.slug_taken' });
  await expect(update({ slug: 'sign-in' })).rejects.toMatchObject({ code: 'organization.slug_reserved' });
  const events = await world.system(({ tx }) => tx.auditEvent.findMany({ where: { action: 'organization.update' } }));
  expect(events).toMatchObject([
    { before: { name: 'acme', slug: 'acme' }, after: { name: 'Acme Ltd', slug: 'acme-ltd' } },
  ]);
});

test('only an owner with a second factor can require one of others', async () => {
  const require = (hasSecondFactor: boolean) =>
    ada.as((ctx) => updateOrganization(ctx, { requiresTwoFactor: true }, { hasSecondFactor }));
  await expect(require(false)).rejects.toMatchObject({ code: 'organization.two_factor_yourself' });
  await require(true);
  const member = await world.system((ctx) =>
    findActiveMember(ctx, { userId: ada.userId, organizationSlug: world.organizationSlug }),
  );
  expect(member).toMatchObject({ requiresTwoFactor: true });
});

test('the organization of the control plane’s own server stays', async () => {
  await expect(ada.as((ctx) => deleteOrganization(ctx, { confirmName: 'acme' }))).rejects.toMatchObject({
    code: 'organization.has_local_server',
  });
});

test('a scheduled deletion of an organization can be cancelled until the delay is over, and not after', async () => {
  await makeServerOrdinary();
  const announce = (confirmName: string) => ada.as((ctx) => deleteOrganization(ctx, { confirmName }));
  await expect(announce('acne')).rejects.toMatchObject({ code: 'organization.confirm_mismatch' });
  const { deleteAt } = await announce('acme');
  expect(deleteAt.getTime()).toBe(world.clock.now().getTime() + deletionDelayMs);
  await expect(announce('acme')).rejects.toMatchObject({ code: 'organization.deletion_pending' });
  expect(await world.system(claimEndingOrganizations)).toEqual([]);

  await ada.as(restoreOrganization);
  await expect(ada.as(restoreOrganization)).rejects.toMatchObject({ code: 'organization.deletion_not_pending' });
  world.clock.forward(deletionDelayMs);
  expect(await world.system(claimEndingOrganizations)).toEqual([]);

  await announce('acme');
  world.clock.forward(deletionDelayMs);
  expect(await world.system(claimEndingOrganizations)).toEqual([world.organizationId]);
  await expect(ada.as(restoreOrganization)).rejects.toMatchObject({ code: 'organization.deletion_not_pending' });
  expect(await auditOf(world)).toEqual(
    expect.arrayContaining(['organization.delete', 'organization.restore', 'organization.end']),
  );
  // From then on no member works in it.
  const place = { userId: ada.userId, organizationSlug: world.organizationSlug };
  expect(await world.system((ctx) => findActiveMember(ctx, place))).toBeNull();
  expect(await world.system((ctx) => listMemberships(ctx, { userId: ada.userId }))).toEqual([]);
});

test('deletion empties the servers first, waits for them, and leaves other organizations unchanged', async () => {
  const other = await make((await testAccount(world, 'Bob')).userId, 'Other');
  await makeServerOrdinary();
  const { deploymentId } = await world.createApp('Shop');
  // A deleted app is purged with the others.
  const stall = await world.createApp('Stall');
  await world.tenant((ctx) => deleteApp(ctx, { appId: stall.appId, confirmName: 'Stall' }));
  const objectKey = `${world.organizationId}/${deploymentId}/0.json.zst`;
  await world.system(({ tx }) =>
    tx.logChunk.create({
      data: {
        id: newId('lgc'),
        organizationId: world.organizationId,
        deploymentId: deploymentId ?? '',
        firstLine: 0,
        lineCount: 1,
        objectKey,
        sizeBytes: 1,
      },
    }),
  );
  await ada.as((ctx) => deleteOrganization(ctx, { confirmName: 'acme' }));
  const end = () => world.system((ctx) => endOrganization(ctx, { organizationId: world.organizationId }));
  expect(await end()).toBe(false);
  world.clock.forward(deletionDelayMs);
  await world.system(claimEndingOrganizations);
  expect(await end()).toBe(false);

  const emptied: (readonly string[] | null)[] = [];
  do emptied.push(await asWorker(emptyOrganization));
  while (emptied.at(-1) !== null);
  expect(emptied.flat()).toEqual([objectKey, null]);
  expect((await world.desired()).apps).toEqual([]);

  // Its server has not reported yet that it runs nothing.
  expect(await end()).toBe(false);
  world.clock.forward(emptyingMs);
  expect(await end()).toBe(true);
  expect(await end()).toBe(false);
  const left = await world.system(({ tx }) => tx.organization.findMany({ select: { slug: true } }));
  expect(left).toEqual([{ slug: other.slug }]);
});

test('a server that reports that it runs nothing is not waited for', async () => {
  await makeServerOrdinary();
  await ada.as((ctx) => deleteOrganization(ctx, { confirmName: 'acme' }));
  world.clock.forward(deletionDelayMs);
  await world.system(claimEndingOrganizations);
  await world.system(
    ({ tx }) => tx.$executeRaw`
    UPDATE server SET applied_epoch = desired_epoch, applied_number = desired_number`,
  );
  expect(await world.system((ctx) => endOrganization(ctx, { organizationId: world.organizationId }))).toBe(true);
});

test('an organization that the path of public reports hid gets another slug', async () => {
  const file = new URL(
    '../../../../prisma/migrations/20261129125500_organization_reports/migration.sql',
    import.meta.url,
  );
  const migrate = () => world.system(({ tx }) => tx.$executeRawUnsafe(readFileSync(file, 'utf8')));
  const add = async (slug: string) => {
    const id = newId('org');
    await world.system(({ tx }) => tx.organization.create({ data: { id, name: slug, slug } }));
    return id;
  };
  const slugOf = async (id: string) =>
    (await world.system(({ tx }) => tx.organization.findFirstOrThrow({ where: { id } }))).slug;
  const [first, other] = [await add('reports'), await add('reports-team')];
  await migrate();
  expect([await slugOf(first), await slugOf(other)]).toEqual(['reports-organization', 'reports-team']);
  const second = await add('reports');
  await migrate();
  expect(await slugOf(second)).toMatch(/^reports-organization-[0-9a-f]{8}$/);
  expect(await slugOf(first)).toBe('reports-organization');
});
