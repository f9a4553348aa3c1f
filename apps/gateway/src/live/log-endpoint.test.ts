// Tests of app log queries between the web process and an agent.
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { LogLinesSchema, LogStream } from '@fairlead/contract/agent';
import { type AppLogBatch, appLogBatch } from '@fairlead/contract/app-log';
import type { Capability } from '@fairlead/contract/capabilities';
import { insertOrganizationRows } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ bodyTimeoutMs: 300 });
});
afterAll(() => gateway.close());

function ask(changes: object = {}, token = gateway.token): Promise<Response> {
  const { organizationId, appId, environmentId, serverId } = gateway.rows;
  const query = { organizationId, appId, environmentId, serverIds: [serverId], limit: 10, follow: false, ...changes };
  return fetch(`${gateway.httpUrl}/internal/logs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(query),
  });
}
async function batchesOf(response: Response): Promise<AppLogBatch[]> {
  return (await response.text())
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => appLogBatch.parse(JSON.parse(block.slice('data: '.length))));
}
const connect = async (capabilities: Capability[]) =>
  (await gateway.knownAgent()).connect(gateway.rows.serverId, { capabilities });

test('a query reaches the server, and its lines stream back until it is done', async () => {
  const link = await connect(['logs']);
  const answer = ask({ text: 'error', level: 'warn' });
  const query = await link.next('logQuery');
  expect(query).toMatchObject({ appId: gateway.rows.appId, text: 'error', level: 'warn', limit: 10, follow: false });
  const { queryId } = query;
  const line = { unixMs: 5n, instanceId: 'ins_1', stream: LogStream.STDERR, level: 'error', text: 'an error' };
  link.send({ case: 'logLines', value: create(LogLinesSchema, { queryId, lines: [line] }) });
  link.send({ case: 'logLines', value: create(LogLinesSchema, { queryId, done: true, more: true }) });
  const batches = await batchesOf(await answer);
  expect(batches.flatMap(({ lines }) => lines)).toEqual([
    {
      unixMs: 5,
      instanceId: 'ins_1',
      process: 'web',
      releaseId: '',
      stream: 'stderr',
      level: 'error',
      text: 'an error',
    },
  ]);
  expect(batches.at(-1)).toMatchObject({ done: true, more: true, failure: null });
  await link.close();
});

test('an agent that cannot search gets no query, and an agent that is away or goes away is reported', async () => {
  const old = await connect([]);
  expect((await batchesOf(await ask()))[0]?.failure).toContain('cannot search');
  await old.close();
  const link = await connect(['logs']);
  const answer = ask({ follow: true });
  await link.next('logQuery');
  await link.close();
  expect((await batchesOf(await answer)).at(-1)?.failure).toContain('not connected');
});

test('only the web process may query, and only apps on servers they are placed on', async () => {
  expect((await ask({}, 'wrong')).status).toBe(401);
  const theirs = await insertOrganizationRows(gateway.db.database, 'theirs');
  expect((await ask({ serverIds: [theirs.serverId] })).status).toBe(404);
  expect((await ask({ organizationId: theirs.organizationId })).status).toBe(404);
  expect((await ask({ limit: 0 })).status).toBe(400);
});

test('a query whose body trickles in does not hold its connection', async () => {
  const { port } = new URL(gateway.httpUrl);
  const socket = connectTcp(Number(port), '127.0.0.1');
  const head = ['POST /internal/logs HTTP/1.1', 'host: gateway', `authorization: Bearer ${gateway.token}`];
  socket.write([...head, 'content-length: 100', '', '{'].join('\r\n'));
  const trickle = setInterval(() => socket.write(' '), 50);
  // The socket is reset or ended; either way the connection is over.
  socket.on('error', () => undefined);
  await once(socket, 'close');
  clearInterval(trickle);
  expect(socket.bytesWritten).toBeLessThan(head.join('').length + 100);
});
