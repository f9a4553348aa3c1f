// Rate limits for a token, a person and an address, and the refusal of a caller who exceeds one.
import { authPath, createSignedCookies, type SignedCookies } from '@fairlead/auth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerAuditExport, answerAuth, answerHttp, answerRequest, type CallLimits, createRateLimit } from './index.ts';
import { refusePage } from './rate-limit.ts';
import { origin, startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let cookie: string;
let token: string;

beforeAll(async () => {
  api = await startTestApi();
  ({ cookie } = await api.signUp('Owner', 'owner'));
  ({ token } = await api.caller(cookie).token.create({ name: 'Reader', permissions: ['app.read'] }));
});
afterAll(() => api.close());

const generous: CallLimits = {
  known: 1000,
  signed: 1000,
  address: 1000,
  addressless: 1000,
  inspections: 1000,
  testMails: 1000,
  deliveries: 1e9,
};
const nobody = createSignedCookies({ secret: 'nobody signs with it', baseUrl: origin });

function newRateLimit(limits: CallLimits, cookies = createSignedCookies(api.authOptions)) {
  return createRateLimit({ limits, database: api.db.database, secret: 'x'.repeat(32), cookies });
}

/** Each test counts from zero. */
async function limited(limits: Partial<CallLimits>) {
  await api.world.system(({ tx }) => tx.callCount.deleteMany());
  return anotherProcess(limits);
}

/** Creates a second limit that counts in the same table. */
function anotherProcess(limits: Partial<CallLimits>, cookies?: SignedCookies) {
  const parts = { ...api.parts, rateLimit: newRateLimit({ ...generous, ...limits }, cookies) };
  const from = (ip?: string): Record<string, string> => (ip === undefined ? {} : { 'x-forwarded-for': ip });
  return {
    http: (bearer: string, ip?: string) => {
      const headers = { authorization: `Bearer ${bearer}`, ...from(ip) };
      return answerHttp(parts, new Request(`${origin}/api/v1/app/list`, { headers }));
    },
    document: () => answerHttp(parts, new Request(`${origin}/api/v1/openapi.json`)),
    trpc: (calls = 1, headers: Record<string, string> = { cookie }, comma = ',') => {
      const path = Array.from({ length: calls }, () => 'session.me').join(comma);
      return answerRequest(parts, new Request(`${origin}/api/trpc/${path}?batch=1`, { headers }));
    },
    auth: (path: string, headers: Record<string, string> = {}, method = 'POST') => {
      const sent = { 'content-type': 'application/json', origin, ...headers };
      const body = method === 'POST' ? '{"code":"123456"}' : null;
      return answerAuth(parts, new Request(`${origin}${authPath}${path}`, { method, headers: sent, body }));
    },
    page: (pathname: string, headers: Record<string, string> = {}) =>
      refusePage(parts.rateLimit, { headers: new Headers(headers), pathname }, []),
    exported: () => answerAuditExport(parts, new Request(`${origin}/api/audit/export`, { headers: { cookie } })),
  };
}

test('a token has a limit of calls, and its refusal says how long to wait', async () => {
  const { http } = await limited({ known: 3 });
  // The owner of a token is known after its first call.
  for (let call = 0; call < 4; call += 1) expect((await http(token)).status).toBe(200);
  const refused = await http(token);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  expect(await refused.json()).toMatchObject({ code: 'request.rate_limited', status: 429 });
});

test('a person has so many calls in all their sessions, and each of a batch counts', async () => {
  const { trpc, exported } = await limited({ known: 10 });
  expect((await trpc()).status).toBe(200);
  expect((await trpc(10)).status).toBe(200);
  const refused = await trpc();
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  // As the dashboard's client reads a failure.
  expect(await refused.json()).toMatchObject([{ error: { json: { data: { errorCode: 'request.rate_limited' } } } }]);
  expect((await exported()).status).toBe(429);
  // An additional cookie does not change the person.
  expect((await trpc(1, { cookie: `${cookie}; theme=dark` })).status).toBe(429);
  const again = await api.signUp('Second', 'viewer');
  expect((await trpc(1, { cookie: again.cookie })).status).toBe(200);
});

test.each(['%2C', '%2c'])('a batch counts each of its calls when %s separates them', async (comma) => {
  const { trpc } = await limited({ known: 10 });
  expect((await trpc()).status).toBe(200);
  // tRPC decodes the path before it splits: all ten run.
  const answered = await trpc(10, { cookie }, comma);
  expect(answered.status).toBe(200);
  expect(await answered.json()).toHaveLength(10);
  expect((await trpc()).status).toBe(429);
});

test('a batch that cannot be decoded counts as many calls as a batch may have', async () => {
  const { trpc } = await limited({ known: 25 });
  expect((await trpc()).status).toBe(200);
  expect((await trpc(2, { cookie }, '%zz')).status).toBe(400);
  expect((await trpc(6)).status).toBe(429);
  expect((await trpc(5)).status).toBe(200);
});

test('the document of the HTTP API is counted too', async () => {
  const { document } = await limited({ addressless: 1 });
  expect((await document()).status).toBe(200);
  expect((await document()).status).toBe(429);
});

test('guessed tokens are counted by address, and lock out no other caller', async () => {
  const { http } = await limited({ address: 3 });
  const guess = () => http(`flt_${Math.random()}`, '203.0.113.9');
  for (let call = 0; call < 3; call += 1) expect((await guess()).status).toBe(401);
  expect((await guess()).status).toBe(429);
  expect((await http(token, '203.0.113.10')).status).toBe(200);
  // The token is known by now, so it still works from that address.
  expect((await http(token, '203.0.113.9')).status).toBe(200);
});

test('a network of IPv6 addresses is one caller, however its addresses are written', async () => {
  const { http } = await limited({ address: 2 });
  expect((await http('x', '2001:db8::1')).status).toBe(401);
  expect((await http('x', '2001:0db8:0:0:ffff::7')).status).toBe(401);
  expect((await http('x', '2001:db8:0:0:1:2:3:4')).status).toBe(429);
  expect((await http('x', '2001:db8:0:1::1')).status).toBe(401);
});

test('without a proxy that vouches for addresses strangers share one allowance, and the known keep theirs', async () => {
  const { trpc } = await limited({ addressless: 3 });
  expect((await trpc()).status).toBe(200);
  for (let call = 0; call < 3; call += 1) expect((await trpc(1, { cookie: `c=${call}` })).status).toBe(401);
  expect((await trpc(1, { cookie: 'c=3' })).status).toBe(429);
  expect((await trpc(1, {})).status).toBe(429);
  expect((await trpc()).status).toBe(200);
});

test('a page is counted like a call, and refused with the seconds to wait', async () => {
  await api.world.system(({ tx }) => tx.callCount.deleteMany());
  const rateLimit = newRateLimit({ ...generous, known: 1, signed: 1 });
  const ask = () => refusePage(rateLimit, { headers: new Headers({ cookie }), pathname: '/' }, []);
  expect(await ask()).toBeNull();
  expect(await ask()).toMatchObject({ status: 429 });
  rateLimit.recognise(new Headers({ cookie }), 'somebody');
  expect(await ask()).toBeNull();
  expect(await ask()).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
});

test('a flood of identity’s routes ends at the limit, and uses up no other limit', async () => {
  const { auth, trpc } = await limited({ addressless: 20 });
  const from = (headers = {}) => auth('/two-factor/verify-totp', headers);
  const statuses = await Promise.all(Array.from({ length: 60 }, (_, at) => from({ cookie: `step=${at}` })));
  expect(statuses.filter(({ status }) => status === 401)).toHaveLength(20);
  const refused = await from();
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ code: 'request.rate_limited' });
  expect((await auth('/sign-in/email')).status).toBe(429);
  expect((await trpc(1, {})).status).toBe(401);
  // The same flood succeeds without the limit.
  const open = await limited({ addressless: 1e6 });
  const passed = await Promise.all(Array.from({ length: 60 }, () => open.auth('/two-factor/verify-totp')));
  expect(passed.filter(({ status }) => status === 401)).toHaveLength(60);
});

/** Sends calls of strangers up to their limit, from everywhere and without an address. */
async function flood(limits: Partial<CallLimits> = {}) {
  const besieged = await limited({ addressless: 20, ...limits });
  const statuses = await Promise.all(Array.from({ length: 40 }, (_, at) => besieged.trpc(1, { cookie: `c=${at}` })));
  expect(statuses.filter(({ status }) => status === 429)).toHaveLength(20);
  return besieged;
}

test('during a flood a process that never saw a signed-in person admits them', async () => {
  const besieged = await flood();
  expect((await besieged.trpc()).status).toBe(200);
  const fresh = anotherProcess({ addressless: 20 });
  expect((await fresh.trpc(1, { cookie: 'c=1' })).status).toBe(429);
  expect((await fresh.trpc()).status).toBe(200);
  expect((await fresh.trpc(1, { cookie: `a=1; ${cookie}; b=2` })).status).toBe(200);
  // If nothing verifies a session's cookie, the same person is refused.
  const blind = anotherProcess({ addressless: 20 }, nobody);
  expect((await blind.trpc()).status).toBe(429);
});

test('during a flood a person with other changed cookies still confirms by passkey', async () => {
  const { auth } = await flood();
  const asked = await auth('/confirm/passkey', { cookie: `${cookie}; __Host-fairlead.passkey=challenge` });
  expect(asked.status).not.toBe(429);
});

test('during a flood of pages and calls strangers still sign in, and get the page for it', async () => {
  const { auth, page } = await flood();
  expect(await page('/')).toMatchObject({ status: 429 });
  expect(await page('/sign-in')).toBeNull();
  expect((await auth('/passkey/generate-authenticate-options', {}, 'GET')).status).toBe(200);
  expect((await auth('/passkey/verify-authentication')).status).toBe(401);
  expect((await auth('/sign-in/email')).status).toBe(400);
});

test('during a flood of sign-ins a device that signed in before still does', async () => {
  const { auth, page } = await flood();
  const statuses = await Promise.all(Array.from({ length: 40 }, () => auth('/passkey/verify-authentication')));
  expect(statuses.filter(({ status }) => status === 429)).toHaveLength(20);
  const device = cookie.split('; ').find((pair) => pair.startsWith('__Host-fairlead.device=')) ?? '';
  expect((await auth('/passkey/generate-authenticate-options', { cookie: device }, 'GET')).status).toBe(200);
  expect((await auth('/sign-in/email', { cookie: device })).status).toBe(400);
  expect(await page('/sign-in', { cookie: device })).toBeNull();
  // A made-up one is a stranger.
  expect((await auth('/sign-in/email', { cookie: `${device}x` })).status).toBe(429);
  expect((await auth('/sign-in/email', { cookie: '__Host-fairlead.device=made.up' })).status).toBe(429);
});

test('a signed cookie of an ended session has only its own small limit', async () => {
  const ended = await api.signUp('Ended', 'viewer');
  const { trpc, auth } = await limited({ signed: 3, known: 5 });
  const theirs = { cookie: ended.cookie };
  const again = await api.signIn('Ended');
  expect((await trpc(1, theirs)).status).toBe(200);
  expect((await trpc(1, { cookie: again })).status).toBe(200);
  expect((await auth('/sign-out', theirs)).status).toBe(200);
  // The first still counts as the person's.
  for (let call = 0; call < 3; call += 1) expect((await trpc(1, theirs)).status).toBe(401);
  expect((await trpc(1, theirs)).status).toBe(429);
  expect((await trpc(1, { cookie: again })).status).toBe(200);
});

test('one person with many sessions does not evict other people from a process', async () => {
  const cookies = { session: (headers: Headers) => headers.get('cookie'), device: () => null };
  const rateLimit = createRateLimit({
    limits: { ...generous, signed: 0 },
    database: api.db.database,
    secret: 'x'.repeat(32),
    cookies,
  });
  const of = (session: string) => new Headers({ cookie: session });
  rateLimit.recognise(of('idle'), 'idle');
  for (let at = 0; at < 30_000; at += 1) rateLimit.recognise(of(`busy ${at}`), 'busy');
  await rateLimit.admit({ headers: of('idle'), ip: null }, 1);
  await rateLimit.admit({ headers: of('busy 29999'), ip: null }, 1);
  const forgotten = rateLimit.admit({ headers: of('busy 0'), ip: null }, 1);
  await expect(forgotten).rejects.toMatchObject({ code: 'request.rate_limited' });
});

test('several web processes share one count, and together admit no call more than it has', async () => {
  const limits = { addressless: 90 };
  const processes = [await limited(limits), anotherProcess(limits), anotherProcess(limits)];
  const answers = await Promise.all(
    Array.from({ length: 240 }, (_, at) => processes[at % 3]?.trpc(1, {}).then(({ status }) => status)),
  );
  expect(answers.filter((status) => status === 401)).toHaveLength(90);
  expect(answers.filter((status) => status === 429)).toHaveLength(150);
  const [row] = await api.world.system(({ tx }) => tx.callCount.findMany());
  expect(row?.key).toBe('addressless');
});

test('addresses share a bounded number of rows', async () => {
  await api.world.system(({ tx }) => tx.callCount.deleteMany());
  const rateLimit = newRateLimit({
    known: 5,
    signed: 5,
    address: 5,
    addressless: 5,
    inspections: 5,
    testMails: 5,
    deliveries: 1e9,
  });
  for (let at = 0; at < 50; at += 1) await rateLimit.admit({ headers: new Headers(), ip: `2001:db8:0:${at}::1` }, 1);
  const rows = await api.world.system(({ tx }) => tx.callCount.findMany());
  expect(rows.length).toBeGreaterThan(1);
  for (const { key } of rows) expect(Number(/^address (\d+)$/.exec(key)?.[1])).toBeLessThan(2 ** 16);
});
