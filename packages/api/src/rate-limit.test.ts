// How often anybody may ask: of a token, of a person, of an address, and what is told to who asks too often.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerAuditExport, answerHttp, answerRequest, type CallLimits, createRateLimit } from './index.ts';
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

/** Each test counts from zero. */
function limited(limits: Partial<CallLimits>) {
  const rateLimit = createRateLimit({ known: 1000, address: 1000, addressless: 1000, ...limits });
  const parts = { ...api.parts, rateLimit };
  const from = (ip?: string): Record<string, string> => (ip === undefined ? {} : { 'x-forwarded-for': ip });
  return {
    http: (bearer: string, ip?: string) => {
      const headers = { authorization: `Bearer ${bearer}`, ...from(ip) };
      return answerHttp(parts, new Request(`${origin}/api/v1/app/list`, { headers }));
    },
    trpc: (calls = 1, headers: Record<string, string> = { cookie }) => {
      const path = Array.from({ length: calls }, () => 'session.me').join(',');
      return answerRequest(parts, new Request(`${origin}/api/trpc/${path}?batch=1`, { headers }));
    },
    exported: () => answerAuditExport(parts, new Request(`${origin}/api/audit/export`, { headers: { cookie } })),
  };
}

test('a token has so many calls, and is then told how long to wait', async () => {
  const { http } = limited({ known: 3 });
  // Whose a token is, is known after its first call.
  for (let call = 0; call < 4; call += 1) expect((await http(token)).status).toBe(200);
  const refused = await http(token);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  expect(await refused.json()).toMatchObject({ code: 'request.rate_limited', status: 429 });
});

test('a person has so many calls in all their sessions, and each of a batch counts', async () => {
  const { trpc, exported } = limited({ known: 10 });
  expect((await trpc()).status).toBe(200);
  expect((await trpc(10)).status).toBe(200);
  const refused = await trpc();
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  // As the dashboard's client reads a failure.
  expect(await refused.json()).toMatchObject([{ error: { json: { data: { errorCode: 'request.rate_limited' } } } }]);
  expect((await exported()).status).toBe(429);
  // A further cookie beside it makes nobody else of them.
  const beside = { cookie: `${cookie}; theme=dark` };
  expect((await trpc(1, beside)).status).toBe(200);
  expect((await trpc(1, beside)).status).toBe(429);
  const again = await api.signUp('Second', 'viewer');
  expect((await trpc(1, { cookie: again.cookie })).status).toBe(200);
});

test('who guesses tokens is counted by address, and keeps nobody else out', async () => {
  const { http } = limited({ address: 3 });
  const guess = () => http(`flt_${Math.random()}`, '203.0.113.9');
  for (let call = 0; call < 3; call += 1) expect((await guess()).status).toBe(401);
  expect((await guess()).status).toBe(429);
  expect((await http(token, '203.0.113.10')).status).toBe(200);
  // Known by now, so it goes on even from that address.
  expect((await http(token, '203.0.113.9')).status).toBe(200);
});

test('a network of IPv6 addresses is one asker, however its addresses are written', async () => {
  const { http } = limited({ address: 2 });
  expect((await http('x', '2001:db8::1')).status).toBe(401);
  expect((await http('x', '2001:0db8:0:0:ffff::7')).status).toBe(401);
  expect((await http('x', '2001:db8:0:0:1:2:3:4')).status).toBe(429);
  expect((await http('x', '2001:db8:0:1::1')).status).toBe(401);
});

test('without a proxy that vouches for addresses strangers share one allowance, and the known keep theirs', async () => {
  const { trpc } = limited({ addressless: 3 });
  expect((await trpc()).status).toBe(200);
  for (let call = 0; call < 2; call += 1) expect((await trpc(1, { cookie: `c=${call}` })).status).toBe(401);
  expect((await trpc(1, { cookie: 'c=3' })).status).toBe(429);
  expect((await trpc(1, {})).status).toBe(429);
  expect((await trpc()).status).toBe(200);
});

test('a page is counted like a call, and refused with the seconds to wait', async () => {
  const rateLimit = createRateLimit({ known: 1, address: 1, addressless: 2 });
  const ask = () => refusePage(rateLimit, new Headers({ cookie }), []);
  expect(await ask()).toBeNull();
  rateLimit.recognise(new Headers({ cookie }), 'somebody');
  expect(await ask()).toBeNull();
  expect(await ask()).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
});
