import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SystemCtx } from '../kernel/index.ts';
import { silentLog, testClock } from '../testing/index.ts';
import { claimSetup, createFirstOrganization, isSetupNeeded, requireSetupToken, rotateSetupToken } from './index.ts';

let db: TestDatabase;
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(() => db.drop());

const clock = testClock();
const system = <T>(run: (ctx: SystemCtx) => Promise<T>): Promise<T> =>
  db.database.system('a test', (tx) => run({ tx, clock, log: silentLog }));

async function account(): Promise<string> {
  const userId = newId('usr');
  await system(({ tx }) => tx.user.create({ data: { id: userId, name: 'Ada', email: `${userId}@example.test` } }));
  return userId;
}

test('the first organization is made once, however often and however many at a time ask for it', async () => {
  const made = await Promise.all(
    [1, 2, 3].map(() => system((ctx) => createFirstOrganization(ctx, { name: 'My organization' }))),
  );
  expect(new Set(made.map(({ organizationId }) => organizationId)).size).toBe(1);
  expect(made.filter(({ created }) => created)).toHaveLength(1);
  expect(made[0]?.slug).toBe('my-organization');
  expect(await system(isSetupNeeded)).toBe(true);
});

test('of many concurrent claims of a token, one becomes the owner', async () => {
  const { organizationId } = await system((ctx) => createFirstOrganization(ctx, { name: 'My organization' }));
  const token = await system((ctx) => rotateSetupToken(ctx, { organizationId }));
  if (token === null) throw new Error('a token was expected');
  const users = await Promise.all([1, 2, 3, 4].map(account));
  const claims = await Promise.allSettled(users.map((userId) => system((ctx) => claimSetup(ctx, { token, userId }))));
  expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const claim of claims) {
    if (claim.status === 'rejected') expect(claim.reason).toMatchObject({ code: 'setup.token_invalid' });
  }
  const members = await system(({ tx }) => tx.member.findMany({ where: { organizationId } }));
  expect(members.map(({ role }) => role)).toEqual(['owner']);
  expect(await system(isSetupNeeded)).toBe(false);
  expect(await system((ctx) => rotateSetupToken(ctx, { organizationId }))).toBeNull();
});

test('a fresh token puts the one before it out of use, and is stored only as a hash', async () => {
  const { organizationId } = await system((ctx) => createFirstOrganization(ctx, { name: 'My organization' }));
  const old = await system((ctx) => rotateSetupToken(ctx, { organizationId }));
  const fresh = await system((ctx) => rotateSetupToken(ctx, { organizationId }));
  const rows = await system(({ tx }) => tx.setupToken.findMany());
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(fresh);
  const userId = await account();
  await expect(system((ctx) => claimSetup(ctx, { token: old ?? '', userId }))).rejects.toMatchObject({
    code: 'setup.token_invalid',
  });
  await expect(system((ctx) => requireSetupToken(ctx, { token: old ?? '' }))).rejects.toMatchObject({
    code: 'setup.token_invalid',
  });
  await system((ctx) => requireSetupToken(ctx, { token: fresh ?? '' }));
  await system((ctx) => claimSetup(ctx, { token: fresh ?? '', userId }));
});

test('a claim that fails leaves the token usable', async () => {
  const { organizationId } = await system((ctx) => createFirstOrganization(ctx, { name: 'My organization' }));
  const token = (await system((ctx) => rotateSetupToken(ctx, { organizationId }))) ?? '';
  await expect(system((ctx) => claimSetup(ctx, { token, userId: newId('usr') }))).rejects.toThrow();
  const userId = await account();
  await system((ctx) => claimSetup(ctx, { token, userId }));
  expect(await system(isSetupNeeded)).toBe(false);
});
