// Tests of the internal live stream against a web process.
import { create } from '@bufbuild/protobuf';
import { AppSampleSchema, FrameSchema, HistogramSchema, LogStream, PushSchema } from '@fairlead/contract/agent';
import { bucketIndex } from '@fairlead/contract/histogram';
import { type LiveEvent, liveEvent } from '@fairlead/contract/live';
import { insertOrganizationRows } from '@fairlead/db/testing';
import { createFakeAgent, type OpenFakeLink } from '@fairlead/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing.ts';
import { livePath } from './stream.ts';

let gateway: TestGateway;
const ends: (() => void)[] = [];
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
afterAll(() => gateway.close());

function ask(topics: string, options: { organization?: string; token?: string | null } = {}): Promise<Response> {
  const { organization = gateway.rows.organizationId, token = gateway.token } = options;
  const query = new URLSearchParams({ organization, topics });
  const end = new AbortController();
  ends.push(() => end.abort());
  return fetch(`${gateway.httpUrl}${livePath}?${query}`, {
    signal: end.signal,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });
}

/** Yields the events of a stream one after another. */
async function* eventsOf(response: Response): AsyncGenerator<LiveEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith('data: ')) yield liveEvent.parse(JSON.parse(block.slice('data: '.length)));
    }
  }
}

async function nextEvent(events: AsyncGenerator<LiveEvent>): Promise<LiveEvent> {
  const { value, done } = await events.next();
  if (done === true) throw new Error('the stream ended');
  return value;
}

async function connect(): Promise<OpenFakeLink> {
  const agent = await gateway.knownAgent();
  return agent.connect(gateway.rows.serverId);
}

function frame(sequence: bigint, unixMs: number) {
  const { appId, environmentId } = gateway.rows;
  const latency = create(HistogramSchema, { index: [bucketIndex(20_000)], count: [100n], sumUs: 2_000_000n });
  const apps = [create(AppSampleSchema, { appId, environmentId, requests: 100, errors: 2, latency, inFlight: 3 })];
  const value = create(FrameSchema, { agentUnixMs: BigInt(unixMs), durationMs: 2000, host: { cpuMillis: 700 }, apps });
  return create(PushSchema, { sequence, body: { case: 'frame', value } });
}

test('a request without the right token is refused', async () => {
  const topic = `app:${gateway.rows.appId}`;
  for (const token of [null, 'wrong', `${gateway.token} `.repeat(2), '']) {
    const response = await ask(topic, { token });
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ code: 'session.required' }),
    ]);
  }
});

test('invalid topics and topics of another organization are refused', async () => {
  const other = await insertOrganizationRows(gateway.db.database, 'stream-other');
  const foreign = [
    `app:${other.appId}`,
    `server:${other.serverId}`,
    `deployment:${other.deploymentId}`,
    `benchmark:${other.runId}`,
    `organization:${other.organizationId}`,
    `app:${gateway.rows.appId},app:${other.appId}`,
  ];
  for (const topics of foreign) expect((await ask(topics)).status, topics).toBe(404);
  for (const topics of ['', 'app', 'app:srv_1', 'member:mem_1']) expect((await ask(topics)).status, topics).toBe(400);
  expect((await ask(`app:${gateway.rows.appId}`, { organization: 'acme' })).status).toBe(400);
  expect((await ask(`app:${other.appId}`, { organization: other.organizationId })).status).toBe(200);
});

test('a sample arrives as amounts per second and a histogram', async () => {
  const response = await ask(`app:${gateway.rows.appId},server:${gateway.rows.serverId}`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('x-accel-buffering')).toBe('no');
  const events = eventsOf(response);
  const link = await connect();
  link.send({ case: 'push', value: frame(1n, Date.now()) });

  expect(await nextEvent(events)).toMatchObject({ type: 'server.sample', cpuMillis: 700 });
  const sample = await nextEvent(events);
  expect(sample).toMatchObject({ type: 'app.sample', requestsPerSecond: 50, errorsPerSecond: 1, inFlight: 3 });
  expect(sample.type === 'app.sample' && sample.latency).toEqual([bucketIndex(20_000), 100]);
  await link.close();
});

test('spooled frames are history and are not streamed live', async () => {
  const events = eventsOf(await ask(`app:${gateway.rows.appId}`));
  const link = await connect();
  link.send({ case: 'push', value: frame(2n, Date.now() - 600_000) });
  link.send({ case: 'push', value: frame(3n, Date.now()) });
  const sample = await nextEvent(events);
  expect(sample.type === 'app.sample' && Date.now() - sample.unixMs).toBeLessThan(60_000);
  await link.close();
});

test('log lines arrive whole, on the topic of their deployment only', async () => {
  const { deploymentId, organizationId } = gateway.rows;
  const events = eventsOf(await ask(`deployment:${deploymentId}`));
  const all = eventsOf(await ask(`organization:${organizationId}`));
  const link = await connect();
  const line = { unixMs: BigInt(Date.now()), step: 'build', stream: LogStream.STDERR, text: 'ünïcode 🚢' };
  const body = { case: 'log' as const, value: { deploymentId, firstLine: 7n, lines: [line] } };
  link.send({ case: 'push', value: create(PushSchema, { sequence: 4n, body }) });
  link.send({ case: 'push', value: frame(5n, Date.now()) });
  expect(await nextEvent(events)).toMatchObject({
    type: 'log.lines',
    deploymentId,
    firstLine: 7,
    lines: [{ step: 'build', stream: 'stderr', text: 'ünïcode 🚢' }],
  });
  expect((await nextEvent(all)).type).toBe('server.sample');
  await link.close();
});

test('a server cannot report for an app or a deployment on another server of its organization', async () => {
  const { appId, environmentId, deploymentId, organizationId } = gateway.rows;
  const { token } = await gateway.mintEnrolment('neighbour');
  const neighbour = createFakeAgent({ url: gateway.url });
  const { serverId } = await neighbour.enrol(token);
  const events = eventsOf(await ask(`organization:${organizationId},app:${appId},deployment:${deploymentId}`));
  const link = await neighbour.connect(serverId);
  const lines = [{ unixMs: BigInt(Date.now()), step: 'build', stream: LogStream.STDOUT, text: 'forged' }];
  const log = { case: 'log' as const, value: { deploymentId, firstLine: 0n, lines } };
  link.send({ case: 'push', value: create(PushSchema, { sequence: 1n, body: log }) });
  link.send({ case: 'push', value: frame(2n, Date.now()) });
  while ((await link.next('pushAck')).sequence < 2n);

  // Only the server's own figures arrived.
  expect(await nextEvent(events)).toMatchObject({ type: 'server.sample', serverId });
  const own = await connect();
  own.send({ case: 'push', value: frame(20n, Date.now()) });
  expect(await nextEvent(events)).toMatchObject({ type: 'server.sample', serverId: gateway.rows.serverId });
  expect(await nextEvent(events)).toMatchObject({ type: 'app.sample', appId, environmentId });
  await link.close();
  await own.close();
});

test('a gateway that stops ends its streams', async () => {
  const stopping = await startTestGateway();
  const { organizationId } = stopping.rows;
  const query = new URLSearchParams({ organization: organizationId, topics: `organization:${organizationId}` });
  const response = await fetch(`${stopping.httpUrl}${livePath}?${query}`, {
    headers: { authorization: `Bearer ${stopping.token}` },
  });
  const rest = response.text();
  await stopping.stopGateway();
  expect(await rest).toBe(': open\n\n');
  await stopping.close();
});
