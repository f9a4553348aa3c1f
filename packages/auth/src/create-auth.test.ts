import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Auth, createAuth } from './create-auth.ts';

let db: TestDatabase;
let auth: Auth;
const origin = 'https://fairlead.example.test';
const ada = { name: 'Ada', email: 'Ada@Example.test', password: 'correct horse battery' };

beforeAll(async () => {
  db = await testDatabase();
  auth = createAuth({ identity: db.database, secret: 's'.repeat(48), baseUrl: origin, trustedOrigins: [origin] });
  await auth.createAccount(ada);
});
afterAll(() => db.drop());

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return auth.handler(
    new Request(`${origin}/api/auth${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin, ...headers },
      body: JSON.stringify(body),
    }),
  );
}

const signIn = (password = ada.password, headers: Record<string, string> = {}) =>
  post('/sign-in/email', { email: 'ada@example.test', password }, headers);

function cookieOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}

test('signing in opens a session in a cookie that scripts and plain http never see; signing out ends it', async () => {
  const response = await signIn();
  expect(response.status).toBe(200);
  for (const cookie of response.headers.getSetCookie()) expect(cookie).toMatch(/HttpOnly.*Secure|Secure.*HttpOnly/i);
  const cookie = cookieOf(response);
  const session = await auth.readSession(new Headers({ cookie }));
  expect(session?.user).toMatchObject({ name: 'Ada', email: 'ada@example.test' });

  expect((await post('/sign-out', {}, { cookie })).status).toBe(200);
  expect(await auth.readSession(new Headers({ cookie }))).toBeNull();
});

test('a wrong password and an unknown address get the same answer', async () => {
  const wrong = await signIn('wrong horse battery');
  const unknown = await post('/sign-in/email', { email: 'eve@example.test', password: ada.password });
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  expect(await wrong.json()).toEqual(await unknown.json());
});

test('nobody can make an account over HTTP', async () => {
  const response = await post('/sign-up/email', { name: 'Eve', email: 'eve@example.test', password: ada.password });
  expect(response.ok).toBe(false);
  const rows = await db.database.system('a test', (tx) => tx.user.findMany({ select: { email: true } }));
  expect(rows).toEqual([{ email: 'ada@example.test' }]);
});

test('a page of another origin cannot act with the cookie', async () => {
  const cookie = cookieOf(await signIn());
  const response = await post('/sign-out', {}, { cookie, origin: 'https://evil.example.test' });
  expect(response.status).toBe(403);
  expect(await auth.readSession(new Headers({ cookie }))).not.toBeNull();
});

test('a forged cookie is no session', async () => {
  const cookie = cookieOf(await signIn());
  const [name, value = ''] = cookie.split('=');
  const forged = `${name}=${value.slice(0, 10)}x${value.slice(11)}`;
  expect(await auth.readSession(new Headers({ cookie: forged }))).toBeNull();
  expect(await auth.readSession(new Headers())).toBeNull();
});

test('an address has one account, whatever its case, and an account can be taken back', async () => {
  await expect(auth.createAccount({ ...ada, email: 'ADA@example.test' })).rejects.toMatchObject({
    code: 'account.email_taken',
  });
  const { userId } = await auth.createAccount({ ...ada, email: `${newId('usr')}@example.test` });
  await auth.deleteAccount({ userId });
  const row = await db.database.system('a test', (tx) => tx.user.findUnique({ where: { id: userId } }));
  expect(row).toBeNull();
});

test('guessing is slowed down', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 22; attempt += 1) statuses.push((await signIn('guess number one', headers)).status);
  expect(statuses).toContain(429);
});

test('a short secret is refused', () => {
  expect(() => createAuth({ identity: db.database, secret: 'short', baseUrl: origin, trustedOrigins: [] })).toThrow(
    /at least 32/,
  );
});
