// Tests of an identity whose dashboard gets further domains while it runs: origins, passkeys and links follow.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthenticator } from './testing/authenticator.ts';
import { origin, startTestAuth, type TestAuth } from './testing/index.ts';
import { addPasskey, challengeOf, signInByPasskey } from './testing/passkey-calls.ts';

const domain = 'https://panel.example.test';
const host = 'panel.example.test';

let domains: readonly string[] = [];
let world: TestAuth;
beforeAll(async () => {
  world = await startTestAuth({ domainOrigins: () => domains, linkUrl: () => domains[0] ?? origin });
});
afterAll(() => world.close());

test('a domain is an origin as soon as it is one, and no longer', async () => {
  domains = [];
  const { email } = await world.newAccount('Origin');
  const signIn = async () => (await world.browser(world.auth, domain).signIn(email)).status;
  expect(await signIn()).toBe(403);
  domains = [domain];
  expect(await signIn()).toBe(200);
  expect((await world.browser().signIn(email)).status).toBe(200);
  domains = [];
  expect(await signIn()).toBe(403);
});

test('a passkey belongs to the address where it was made, and works there', async () => {
  domains = [];
  const { email } = await world.newAccount('Pass');
  const before = world.browser();
  await before.signIn(email);
  const first = createAuthenticator();
  expect((await addPasskey(before, first)).status).toBe(200);
  domains = [domain];
  expect((await signInByPasskey(world.browser(), first)).status).toBe(200);
  const there = world.browser(world.auth, domain);
  expect(await challengeOf(there, 'authenticate')).toMatchObject({ rpId: host });
  expect((await signInByPasskey(there, first, { origin: domain })).status).toBe(401);

  const { email: other } = await world.newAccount('Other');
  const second = createAuthenticator();
  await there.signIn(other);
  expect((await addPasskey(there, second, { origin: domain, host })).status).toBe(200);
  const again = world.browser(world.auth, domain);
  expect((await signInByPasskey(again, second, { origin: domain, host })).status).toBe(200);
});

test('links in mails lead to the domain', async () => {
  domains = [domain];
  const { email } = await world.newAccount('Mail');
  await world.auth.account.requestReset(new Headers(), { email });
  expect((await world.inbox.next(email)).replaceAll('=\r\n', '')).toContain(`${domain}/reset-password`);
});
