import { type AppId, newId } from '@fairlead/contract/ids';
import type { LiveEvent } from '@fairlead/contract/live';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createCaller, createContext, createOpenStreams } from './index.ts';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: { cookie: string; userId: string };
let appId: AppId;

beforeEach(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
  appId = (await api.world.createApp('Shop')).appId;
});
afterEach(async () => {
  vi.useRealTimers();
  await api.close();
});

async function watch(id = appId): Promise<AsyncIterator<LiveEvent>> {
  const events = await api.caller(owner.cookie).live.watch({ topics: [{ kind: 'app', id }] });
  return events[Symbol.asyncIterator]();
}

test('events of watched topics arrive, and the source learns that a watcher left', async () => {
  const events = await watch();
  const changed: LiveEvent = { type: 'changed', kind: 'app', id: appId };
  api.live.push(changed);
  expect(await events.next()).toEqual({ done: false, value: changed });
  expect(api.live.subscriptions[0]).toMatchObject({ organizationId: api.world.organizationId });
  await events.return?.();
  expect(api.live.subscriptions[0]?.signal.aborted).toBe(true);
});

test('a topic outside the organization is refused before it is watched', async () => {
  const events = await watch(newId('app'));
  await expect(events.next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(api.live.subscriptions).toEqual([]);
});

test.each([
  ['membership', 'member', 'NOT_FOUND'],
  ['session', 'session', 'UNAUTHORIZED'],
] as const)('the stream ends soon after the %s does', async (_name, table, code) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const events = await watch();
  api.live.push({ type: 'changed', kind: 'app', id: appId });
  await events.next();
  const next = events.next();
  const ended = expect(next).rejects.toMatchObject({ code });
  await api.world.system(async ({ tx }) => {
    if (table === 'member') await tx.member.deleteMany({ where: { userId: owner.userId } });
    else await tx.session.deleteMany({ where: { userId: owner.userId } });
  });
  vi.advanceTimersByTime(15_000);
  await ended;
});

/** Wraps the database; counts the transactions, and the concurrent ones of one name. */
function observed(database: TestApi['parts']['database']) {
  const seen = { opened: 0, openingNow: 0, openingMost: 0, tenant: 0 };
  const system: typeof database.system = async (reason, run) => {
    if (reason !== 'open a live stream') return database.system(reason, run);
    seen.opened += 1;
    seen.openingNow += 1;
    seen.openingMost = Math.max(seen.openingMost, seen.openingNow);
    return database.system(reason, run).finally(() => {
      seen.openingNow -= 1;
    });
  };
  const tenant: typeof database.tenant = async (organizationId, run) => {
    seen.tenant += 1;
    return database.tenant(organizationId, run);
  };
  return { seen, database: { ...database, system, tenant } };
}

test('a burst of streams beyond the bound costs no transaction, and those within it open one after another', async () => {
  const { seen, database } = observed(api.parts.database);
  const limits = { personMax: 3, organizationMax: 100 };
  const parts = { ...api.parts, database, streams: createOpenStreams({ database, log: api.parts.log, limits }) };
  const headers = new Headers({ cookie: owner.cookie });
  const left = new AbortController();
  const refused: string[] = [];
  const watchOne = async () => {
    const ctx = createContext(parts, { headers, organizationSlug: api.world.organizationSlug });
    const caller = createCaller(ctx, { signal: left.signal });
    for await (const _ of await caller.live.watch({ topics: [{ kind: 'app', id: appId }] }));
  };
  const watched = Array.from({ length: 30 }, () => watchOne().catch(({ code }) => refused.push(code)));
  await vi.waitFor(() => expect(refused.length + api.live.subscriptions.length).toBe(30), 20_000);
  expect(refused).toEqual(Array(27).fill('TOO_MANY_REQUESTS'));
  expect(seen).toEqual({ opened: 3, openingNow: 0, openingMost: 1, tenant: 3 });
  left.abort();
  await Promise.all(watched);
  // Streams that ended, or never opened, no longer count.
  const again = new AbortController();
  const ctx = createContext(parts, { headers, organizationSlug: api.world.organizationSlug });
  const events = await createCaller(ctx, { signal: again.signal }).live.watch({ topics: [{ kind: 'app', id: appId }] });
  api.live.push({ type: 'changed', kind: 'app', id: appId });
  expect(await events[Symbol.asyncIterator]().next()).toMatchObject({ done: false });
  again.abort();
});
