import { type AppId, newId } from '@fairlead/contract/ids';
import type { LiveEvent } from '@fairlead/contract/live';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
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

test('a topic of nobody here is refused before anything is watched', async () => {
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
