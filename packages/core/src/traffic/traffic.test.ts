import { readFileSync } from 'node:fs';
import { fromJson } from '@bufbuild/protobuf';
import { DesiredStateSchema } from '@fairlead/contract/agent';
import { expect, test } from 'vitest';
import {
  appTraffic,
  appTrafficSchema,
  hostPolicySchema,
  policyInputSchema,
  proxySettings,
  proxySettingsSchema,
  routePolicy,
  storedPolicySchema,
} from './index.ts';

// The agent's parser takes the same file.
const fixture = new URL('../../../contract/fixtures/messages/DesiredState.traffic.json', import.meta.url);
const state = fromJson(DesiredStateSchema, JSON.parse(readFileSync(fixture, 'utf8')));
const [, route] = state.routes;

const full = storedPolicySchema.parse({
  servePlainHttp: true,
  stripPrefix: true,
  requestHeaders: [
    { action: 'set', name: ' X-Tenant ', value: 'blue' },
    { action: 'remove', name: 'x-debug' },
  ],
  responseHeaders: [{ action: 'append', name: 'vary', value: ' cookie' }],
  basicAuth: {
    realm: 'Staging',
    users: [{ name: 'ann', passwordHash: `pbkdf2-sha256:600000:${'A'.repeat(22)}==:${'A'.repeat(43)}=` }],
  },
  allow: ['192.0.2.0/24', '2001:db8::1'],
  deny: ['192.0.2.7'],
  maintenance: { body: '<h1>Back at ten</h1>', retryAfterSeconds: 600 },
  errorPages: [
    { from: 500, to: 599, replaceApp: true, page: { contentType: 'text/plain', body: 'Something went wrong.' } },
  ],
  limits: {
    clientRequestsPerSecond: 5,
    clientBurst: 10,
    clientInFlight: 20,
    requestsPerSecond: 500,
    burst: 50,
    inFlight: 1000,
  },
  priority: 'high',
  compress: true,
  requestBodyBytesMax: 100 * 2 ** 20,
  rewritePrefix: '/v1/shop',
  forwardAuth: {
    app: 'app_0fixtureAuth00000000',
    path: '/verify',
    responseHeaders: [' X-User '],
    timeoutMs: 2000,
    cacheSeconds: 30,
    cacheByCredentials: true,
  },
});

test('a whole policy is converted to the agent’s message', () => {
  expect(route?.policy).toBeDefined();
  const host = hostPolicySchema.parse({
    minTlsVersion: '1.3',
    hsts: { maxAgeSeconds: 31_536_000, includeSubdomains: true, preload: true },
    clientAuth: { mode: 'required', caPem: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
  });
  expect(routePolicy(full, host)).toEqual(route?.policy);
});

test('a policy of defaults is not sent', () => {
  expect(routePolicy(storedPolicySchema.parse({}))).toBeNull();
  expect(routePolicy(storedPolicySchema.parse({ redirect: { to: '/x' } }))).toBeNull();
  expect(routePolicy(storedPolicySchema.parse({ compress: true }))).toMatchObject({ compress: true });
});

const page = { body: 'soon' };
const wrong: readonly (readonly [string, object])[] = [
  ['requestHeaders.0.name', { requestHeaders: [{ action: 'set', name: 'host', value: 'x' }] }],
  ['requestHeaders.0.name', { requestHeaders: [{ action: 'set', name: 'Transfer-Encoding', value: 'x' }] }],
  ['requestHeaders.0.name', { requestHeaders: [{ action: 'set', name: 'x_tenant', value: 'x' }] }],
  ['responseHeaders.0.value', { responseHeaders: [{ action: 'set', name: 'x-a', value: 'a\r\nset-cookie: b' }] }],
  ['responseHeaders.0.value', { responseHeaders: [{ action: 'remove', name: 'x-a', value: 'a' }] }],
  ['responseHeaders.0.value', { responseHeaders: [{ action: 'set', name: 'x-a', value: 'é' }] }],
  ['basicAuth.users', { basicAuth: { users: [] } }],
  ['basicAuth.users', { basicAuth: { users: [{ name: 'ann' }, { name: 'ann' }] } }],
  ['basicAuth.users.0.name', { basicAuth: { users: [{ name: 'a:b' }] } }],
  ['basicAuth.users.0.password', { basicAuth: { users: [{ name: 'ann', password: 'short' }] } }],
  ['basicAuth.realm', { basicAuth: { realm: 'a"b', users: [{ name: 'ann' }] } }],
  ['allow.0', { allow: ['10.0.0.0/33'] }],
  ['allow.0', { allow: ['example.com'] }],
  ['deny.0', { deny: [''] }],
  ['rewritePrefix', { rewritePrefix: 'v1' }],
  ['rewritePrefix', { rewritePrefix: '//evil.example' }],
  ['rewritePrefix', { rewritePrefix: '/a//b' }],
  ['rewritePrefix', { rewritePrefix: '/a?b' }],
  ['rewritePrefix', { rewritePrefix: '/a\\b' }],
  ['forwardAuth.app', { forwardAuth: { app: 'http://169.254.169.254', path: '/' } }],
  ['forwardAuth.path', { forwardAuth: { app: 'app_0fixtureAuth00000000', path: 'verify' } }],
  [
    'forwardAuth.responseHeaders.0',
    { forwardAuth: { app: 'app_0fixtureAuth00000000', path: '/', responseHeaders: ['x-forwarded-for'] } },
  ],
  ['redirect', { redirect: { to: '/x' }, forwardAuth: { app: 'app_0fixtureAuth00000000', path: '/' } }],
  ['redirect', { redirect: { to: '/x' }, basicAuth: { users: [{ name: 'ann', password: 'correct horse' }] } }],
  ['maintenance.body', { maintenance: { body: 'é'.repeat(40_000) } }],
  ['maintenance.contentType', { maintenance: { ...page, contentType: '' } }],
  ['maintenance.retryAfterSeconds', { maintenance: { ...page, retryAfterSeconds: 86_401 } }],
  ['errorPages.0.to', { errorPages: [{ from: 503, to: 500, page }] }],
  ['errorPages.0.from', { errorPages: [{ from: 200, to: 500, page }] }],
  ['limits.inFlight', { limits: { inFlight: -1 } }],
  ['limits.burst', { limits: { burst: 1_000_001 } }],
  ['requestBodyBytesMax', { requestBodyBytesMax: 2 ** 50 + 1 }],
  ['redirect.to', { redirect: { to: 'ftp://example.com' } }],
  ['redirect.to', { redirect: { to: '//evil.example' } }],
  ['redirect.to', { redirect: { to: 'https://user@example.com/' } }],
  ['redirect.to', { redirect: { to: 'https://' } }],
  ['redirect.to', { redirect: { to: '/a b' } }],
  ['redirect.to', { redirect: { to: '/größe' } }],
  ['redirect.to', { redirect: { to: '/a?b=1', keepPath: true } }],
  ['redirect.status', { redirect: { to: '/a', status: 200 } }],
];

test.each(wrong)('%s is refused where it is entered', (path, policy) => {
  const refused = policyInputSchema.safeParse(policy);
  expect(refused.error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
});

test('user input is normalized', () => {
  const policy = policyInputSchema.parse({
    redirect: { to: ' https://example.com/new?from=old ', keepPath: false },
    allow: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'],
  });
  expect(policy.redirect).toEqual({ to: 'https://example.com/new?from=old', status: 308, keepPath: false });
  expect(policy.allow).toEqual(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']);
  expect(policyInputSchema.parse({}).limits.inFlight).toBe(0);
});

test("an app's traffic is said in the words that the agent takes, and not at all when it is as ever", () => {
  const traffic = {
    upstreamProtocol: 'http2',
    loadBalancing: 'round_robin',
    stickySessions: { kind: 'cookie', name: ' shop_instance ' },
    slowStartMs: 30_000,
    connectionsPerInstance: 32,
    inFlightPerInstance: 8,
    inFlightPerApp: 64,
    queueLengthMax: 0,
    queueTimeoutMs: 2500,
    responseTimeoutMs: 60_000,
    loadShedding: true,
    retryBudgetPercent: 0,
    outlierEjection: { consecutiveFailures: 3, ejectionTimeMs: 1000, ejectedPercentMax: 100 },
    healthCheck: { path: '/up', intervalMs: 1000, timeoutMs: 500, healthyThreshold: 2, unhealthyThreshold: 4 },
  };
  expect(state.apps[0]?.traffic).toBeDefined();
  expect(appTraffic(appTrafficSchema.parse(traffic))).toEqual(state.apps[0]?.traffic);
  expect(appTraffic(appTrafficSchema.parse({}))).toBeNull();
});

const wrongTraffic: readonly (readonly [string, object])[] = [
  ['stickySessions.name', { stickySessions: { kind: 'cookie', name: 'a b' } }],
  ['stickySessions.name', { stickySessions: { kind: 'cookie', name: '' } }],
  ['stickySessions.kind', { stickySessions: { kind: 'header' } }],
  ['slowStartMs', { slowStartMs: 3_600_001 }],
  ['connectionsPerInstance', { connectionsPerInstance: -1 }],
  ['queueLengthMax', { queueLengthMax: 100_001 }],
  ['queueTimeoutMs', { queueTimeoutMs: 0 }],
  ['responseTimeoutMs', { responseTimeoutMs: 0.5 }],
  ['retryBudgetPercent', { retryBudgetPercent: 101 }],
  ['outlierEjection.ejectionTimeMs', { outlierEjection: { ejectionTimeMs: 99 } }],
  ['healthCheck.path', { healthCheck: { path: 'up' } }],
  ['healthCheck.unhealthyThreshold', { healthCheck: { unhealthyThreshold: 0 } }],
];

test.each(wrongTraffic)('traffic: %s is refused where it is entered', (path, traffic) => {
  const refused = appTrafficSchema.safeParse(traffic);
  expect(refused.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
});

test("a server's proxy is told what holds for all in words that the agent takes, and nothing when it is as ever", () => {
  const settings = {
    trustedProxies: ['10.0.0.0/8', '2001:db8::1'],
    cloudflare: true,
    proxyProtocol: true,
    http3: false,
    connectionsPerClient: 0,
    accessLog: { format: 'combined', samplePermille: 1000, fileBytesMax: 2 ** 20, filesMax: 3 },
  };
  expect(state.proxy).toBeDefined();
  expect(proxySettings(proxySettingsSchema.parse(settings))).toEqual(state.proxy);
  expect(proxySettings(proxySettingsSchema.parse({}))).toBeNull();
});

const wrongProxy: readonly (readonly [string, object])[] = [
  ['trustedProxies.0', { trustedProxies: ['10.0.0.0/33'] }],
  ['proxyProtocol', { proxyProtocol: true }],
  ['connectionsPerClient', { connectionsPerClient: -1 }],
  ['accessLog.samplePermille', { accessLog: { samplePermille: 1001 } }],
  ['accessLog.fileBytesMax', { accessLog: { fileBytesMax: 65_535 } }],
  ['accessLog.filesMax', { accessLog: { filesMax: 0 } }],
];

test.each(wrongProxy)('of a server: %s is refused where it is entered', (path, settings) => {
  const refused = proxySettingsSchema.safeParse(settings);
  expect(refused.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
});
