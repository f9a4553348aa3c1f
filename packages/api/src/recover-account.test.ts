import { createAuth } from '@fairlead/auth';
import { testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RecoverFailed, recoverAccount } from './recover-account.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const origin = 'https://fairlead.example.test';
const next = 'a password of the way back';

test('a locked-out person sets a new password by the printed link, and their organizations know of it', async () => {
  const world = await testWorld(db.database);
  const auth = createAuth({
    identity: db.database,
    secret: 's'.repeat(48),
    baseUrl: origin,
    trustedOrigins: [origin],
    trustedProxies: [],
    github: null,
    mail: null,
    onFailure: (error) => expect.unreachable(String(error)),
  });
  const { userId } = await auth.createAccount({
    name: 'Ada',
    email: 'ada@example.test',
    password: 'forgotten for good',
  });
  await world.system(({ tx }) =>
    tx.member.create({ data: { id: 'mem_ada', organizationId: world.organizationId, userId, role: 'owner' } }),
  );
  const input = { databaseUrl: db.url, removeSecondFactors: true };
  const { path, organizations } = await recoverAccount({ ...input, email: 'Ada@Example.test' });
  expect(organizations).toBe(1);
  const [, token = ''] = path.split('#token=');
  await auth.account.resetPassword(new Headers(), { token, password: next });
  const signIn = await auth.handler(
    new Request(`${origin}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ email: 'ada@example.test', password: next }),
    }),
  );
  expect(signIn.status).toBe(200);

  const rows = await world.system(({ tx }) => tx.auditEvent.findMany({ where: { action: 'account.recover' } }));
  expect(rows).toMatchObject([
    { organizationId: world.organizationId, actorKind: 'system', targetId: userId, after: { twoFactorRemoved: true } },
  ]);
  expect(JSON.stringify(rows)).not.toContain(token);
  await expect(recoverAccount({ ...input, email: 'nobody@example.test' })).rejects.toThrow(RecoverFailed);
});
