import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@fairlead/contract/ids';
import type { LiveEvent } from '@fairlead/contract/live';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLiveSource } from './live-source.ts';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };
const gateway = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
});
let gatewayUrl: string;
beforeAll(async () => {
  gateway.listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(() => gateway.close());

test('a stream starts with a refetch event, and then reports changes', async () => {
  let notify: (payload: string) => void = () => undefined;
  const source = createLiveSource({
    database: {
      listen: async (_channel, { onNotice }) => {
        notify = onNotice;
        return async () => undefined;
      },
    },
    gatewayUrl,
    token: async () => 'token',
    log: silent,
  });
  const [organizationId, id] = [newId('org'), newId('dep')];
  const ended = new AbortController();
  const topics = [{ kind: 'deployment', id }] as const;
  const events = source.subscribe({ organizationId, topics, signal: ended.signal })[Symbol.asyncIterator]();
  const next = async (): Promise<LiveEvent> => (await events.next()).value;

  // Without it, a deployment that went live while its page loaded would look unfinished for ever.
  expect(await next()).toEqual({ type: 'changed', kind: 'deployment', id });

  notify(JSON.stringify({ organizationId: newId('org'), kind: 'deployment', id }));
  notify(JSON.stringify({ organizationId, kind: 'server', id: newId('srv') }));
  notify(JSON.stringify({ organizationId, kind: 'deployment', id }));
  expect(await next()).toEqual({ type: 'changed', kind: 'deployment', id });
  ended.abort();
  expect((await events.next()).done).toBe(true);
});
