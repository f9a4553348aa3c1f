import { newId } from '@fairlead/contract/ids';
import { identityClient } from '@fairlead/db/identity';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Auth, createAuth, openPaths } from './create-auth.ts';
import { type AuthOptions, buildLibrary } from './library.ts';
import { failuresMax, strangersFailuresMax } from './sign-in-limit.ts';

let db: TestDatabase;
let auth: Auth;
const origin = 'https://fairlead.example.test';
const ada = { name: 'Ada', email: 'Ada@Example.test', password: 'correct horse battery' };

beforeAll(async () => {
  db = await testDatabase();
  auth = createAuth(options());
  await auth.createAccount(ada);
});
afterAll(() => db.drop());

function options(change: Partial<AuthOptions> = {}): AuthOptions {
  const identity = db.database;
  return {
    identity,
    secret: 's'.repeat(48),
    baseUrl: origin,
    trustedOrigins: [origin],
    trustedProxies: [],
    github: null,
    mail: null,
    onFailure: (error) => expect.unreachable(String(error)),
    ...change,
  };
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return auth.handler(
    new Request(`${origin}/api/auth${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin, ...headers },
      body: JSON.stringify(body),
    }),
  );
}

const signInOf = ({ email, password }: typeof ada) => ({ email, password });
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

test('no account can be made over HTTP', async () => {
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
  const forged = `${name}=${value.slice(0, 10)}${value[10] === 'x' ? 'y' : 'x'}${value.slice(11)}`;
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

/** An account that no other test counts attempts of. */
async function newAccount(name: string) {
  const account = { name, email: `${name.toLowerCase()}@example.test`, password: 'a long enough one' };
  await auth.createAccount(account);
  const send = (password: string, headers: Record<string, string> = {}) =>
    post('/sign-in/email', { email: account.email, password }, headers);
  const attempt = async (password: string, headers: Record<string, string> = {}) =>
    (await send(password, headers)).status;
  return {
    email: account.email,
    attempt,
    right: (headers: Record<string, string> = {}) => attempt(account.password, headers),
    /** Signs in; returns the cookie that identifies the device from then on. */
    device: async () => cookieOf(await send(account.password)).replace(/__Host-fairlead.session_token=[^;]*;? ?/, ''),
  };
}

/** Skips the waiting time of a locked account. */
const wait = () => identityClient(db.database).signInAttempt.updateMany({ data: { openAt: new Date(0) } });

test('guessing one account is stopped after ten attempts, whatever address they claim to come from', async () => {
  const grace = await newAccount('Grace');
  const guesses = Array.from({ length: 40 }, (_, at) =>
    grace.attempt('guess', { 'x-forwarded-for': `203.0.113.${at}` }),
  );
  const statuses = await Promise.all(guesses);
  expect(statuses.filter((status) => status === 401)).toHaveLength(failuresMax);
  expect(statuses.filter((status) => status === 429)).toHaveLength(40 - failuresMax);
  // The right password gives the same answer.
  expect(await grace.right()).toBe(429);
  expect((await signIn()).status).toBe(200);
  await wait();
  expect(await grace.right()).toBe(200);
});

test('after ten attempts each further one waits twice as long as the one before', async () => {
  const kay = await newAccount('Kay');
  for (let time = 0; time < failuresMax; time += 1) await kay.attempt('guess');
  const waits: number[] = [];
  for (let time = 0; time < 9; time += 1) {
    const [row] = await identityClient(db.database).signInAttempt.findMany({
      where: { count: failuresMax + time },
      orderBy: { openAt: 'desc' },
      take: 1,
    });
    waits.push(Math.round(((row?.openAt.getTime() ?? 0) - (row?.countedAt.getTime() ?? 0)) / 60_000));
    await wait();
    expect(await kay.attempt('guess')).toBe(401);
    expect(await kay.attempt('guess')).toBe(429);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('strangers cannot lock an owner out of a device that signed in before, and it cannot guess for ever', async () => {
  const owner = await newAccount('Owner');
  const cookie = await owner.device();
  for (let time = 0; time < 30; time += 1) await owner.attempt('guess');
  expect(await owner.right()).toBe(429);
  expect(await owner.right({ cookie })).toBe(200);
  // A stranger's made-up device is a stranger, and so is the device of another account.
  expect(await owner.right({ cookie: '__Host-fairlead.device=made-up' })).toBe(429);
  const eve = await newAccount('Eve');
  expect(await owner.right({ cookie: await eve.device() })).toBe(429);

  for (let time = 0; time < failuresMax; time += 1) expect(await owner.attempt('guess', { cookie })).toBe(401);
  expect(await owner.right({ cookie })).toBe(429);
});

test('an owner’s sign-in gives strangers no new attempts', async () => {
  const owner = await newAccount('Generous');
  const cookie = await owner.device();
  for (let time = 0; time < failuresMax; time += 1) expect(await owner.attempt('guess')).toBe(401);
  expect(await owner.right({ cookie })).toBe(200);
  expect(await owner.attempt('guess')).toBe(429);
});

test('a crowd of known addresses shares one allowance, and its end closes no known device', async () => {
  const behind = createAuth(options({ trustedProxies: ['10.0.0.0/8'] }));
  const owner = await newAccount('Crowded');
  const cookie = await owner.device();
  const from = async (address: string, password: string, headers: Record<string, string> = {}) => {
    const request = new Request(`${origin}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin, 'x-forwarded-for': `${address}, 10.0.0.1`, ...headers },
      body: JSON.stringify({ email: owner.email, password }),
    });
    return (await behind.handler(request)).status;
  };
  const statuses: number[] = [];
  for (let at = 0; at < strangersFailuresMax + 10; at += 1) statuses.push(await from(`198.51.100.${at}`, 'guess'));
  expect(statuses.filter((status) => status === 401)).toHaveLength(strangersFailuresMax);
  expect(statuses.at(-1)).toBe(429);
  expect(await from('203.0.113.9', 'a long enough one')).toBe(429);
  expect(await from('203.0.113.9', 'a long enough one', { cookie })).toBe(200);
});

test('an address without an account is counted like any other', async () => {
  const body = { email: 'nobody@example.test', password: 'guess' };
  const statuses: number[] = [];
  for (let attempt = 0; attempt <= failuresMax; attempt += 1)
    statuses.push((await post('/sign-in/email', body)).status);
  expect(statuses.at(-2)).toBe(401);
  expect(statuses.at(-1)).toBe(429);
});

test('a request that is no guess is not counted, and the right password resets failed attempts', async () => {
  const linus = await newAccount('Linus');
  for (let time = 0; time < 12; time += 1) {
    expect(await linus.attempt('guess', { origin: 'https://evil.example.test', cookie: 'a=b' })).toBe(403);
  }
  for (let round = 0; round < 2; round += 1) {
    for (let time = 1; time < failuresMax; time += 1) expect(await linus.attempt('guess')).toBe(401);
    expect(await linus.right()).toBe(200);
  }
});

test('behind a trusted proxy each address has its own limit, and a forwarded address from the client is ignored', async () => {
  const behind = createAuth(options({ trustedProxies: ['10.0.0.0/8'] }));
  const attempt = (forwarded: string, at: number) =>
    behind.handler(
      new Request(`${origin}/api/auth/sign-in/email`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin, 'x-forwarded-for': forwarded },
        body: JSON.stringify({ email: `${at}@example.test`, password: 'guess' }),
      }),
    );
  const statuses: number[] = [];
  for (let at = 0; at < 21; at += 1) statuses.push((await attempt(`192.0.2.${at}, 203.0.113.7, 10.0.0.1`, at)).status);
  expect(statuses.at(-2)).toBe(401);
  expect(statuses.at(-1)).toBe(429);
  expect((await attempt('203.0.113.8, 10.0.0.1', 99)).status).toBe(401);
});

test('only listed paths of the library are open', async () => {
  const cookie = cookieOf(await signIn());
  const endpoints = Object.values(buildLibrary(options()).api) as readonly {
    path?: string;
    options?: { method: unknown };
  }[];
  const paths = endpoints.map(({ path }) => path).filter((path) => path !== undefined);
  expect(paths).toEqual(expect.arrayContaining(['/sign-in/email', '/sign-out', '/update-user', '/verify-password']));
  expect(paths).toEqual(expect.arrayContaining(['/two-factor/disable', '/passkey/delete-passkey']));
  for (const path of [...paths, '/sign-in/email/', '/../auth/get-session', '/ok', '/error']) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      if (openPaths.includes(`${method} ${path}`)) continue;
      const body = method === 'GET' ? {} : { body: '{"name":"Eve","password":"x"}' };
      const headers = { 'content-type': 'application/json', origin, cookie };
      const response = await auth.handler(new Request(`${origin}/api/auth${path}`, { method, headers, ...body }));
      expect([response.status, await response.text()], `${method} ${path}`).toEqual([404, '']);
    }
  }
  expect((await auth.readSession(new Headers({ cookie })))?.user.name).toBe('Ada');
});

test('a sign-in takes an address and a password: no other field is passed on, and no long body is read', async () => {
  const elsewhere = await post('/sign-in/email', {
    ...signInOf(ada),
    callbackURL: 'https://evil.example.test',
    image: 'x',
  });
  expect(elsewhere.status).toBe(200);
  expect(elsewhere.headers.get('location')).toBeNull();
  // No token in the body either: it is in the cookie only.
  expect(await elsewhere.json()).toEqual({ needsCode: false });
  for (const body of [
    {},
    { email: 'no address', password: 'x' },
    { email: ada.email, password: ['x'] },
    { ...signInOf(ada), x: 'x'.repeat(5000) },
  ]) {
    const response = await post('/sign-in/email', body);
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: 'input.invalid' })]);
  }
});

test('over https the cookie belongs to this host only; over http to this port as far as cookies can', async () => {
  const cookies = (await signIn()).headers.getSetCookie();
  expect(cookies.map((cookie) => cookie.split('=')[0])).toEqual([
    '__Host-fairlead.session_token',
    '__Host-fairlead.device',
  ]);
  for (const cookie of cookies) {
    expect(cookie).toMatch(/; Path=\/;/);
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; Secure/);
    expect(cookie).toMatch(/; SameSite=Lax/);
    expect(cookie).not.toMatch(/Domain/i);
  }
  const local = 'http://localhost:4400';
  const plain = createAuth(options({ baseUrl: local, trustedOrigins: [local] }));
  const response = await plain.handler(
    new Request(`${local}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: local },
      body: JSON.stringify(signInOf(ada)),
    }),
  );
  const [planted] = response.headers.getSetCookie();
  expect(planted).toMatch(/^fairlead-4400\.session_token=.*HttpOnly/);
  expect(planted).not.toMatch(/Domain|Secure/i);
  expect(await plain.readSession(new Headers({ cookie: cookieOf(response) }))).not.toBeNull();
});

test('a short secret is refused', () => {
  expect(() => createAuth(options({ secret: 'short' }))).toThrow(/at least 32/);
});
