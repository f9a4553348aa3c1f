// Tests of unauthenticated connections: their limits are low, also for each network, and they never crowd out an agent that
// can authenticate.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { insertOrganizationRows } from '@fairlead/db/testing';
import { createFakeAgent, type FakeLink } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messageBytesMax } from './session/read-message.ts';
import { startTestGateway, type TestGateway } from './testing.ts';

let gateway: TestGateway;
beforeAll(async () => {
  // As behind a reverse proxy of the operator on this machine.
  gateway = await startTestGateway({ trustedProxies: ['127.0.0.1'] });
});
afterAll(() => gateway.close());

const unauthenticatedMax = 256;
const networkMax = 64;

test('at the connection limit, the unauthenticated connection that was silent longest makes room for an agent', async () => {
  const stranger = createFakeAgent({ url: gateway.url });
  const silent = await Promise.all(Array.from({ length: unauthenticatedMax }, () => stranger.dial()));
  const agents = [gateway.rows, await insertOrganizationRows(gateway.db.database, 'second')];
  for (const rows of agents) {
    const link = await (await gateway.knownAgent(rows)).connect(rows.serverId);
    link.send({ case: 'sync', value: {} });
    expect((await link.next('state')).state.length).toBeGreaterThan(0);
    await link.close();
  }
  expect(await Promise.race(silent.map((link) => link.ended))).toMatchObject({ closeCode: 1006 });
  for (const link of silent) link.crash();
});

test('a flood of one network, or of many, displaces no other agent in its handshake and none after it', async () => {
  const agent = await gateway.knownAgent();
  const open = await agent.connect(gateway.rows.serverId);
  const dialFrom = (forwardedFor: string) => createFakeAgent({ url: gateway.url, forwardedFor }).dial();
  const honest = await dialFrom('198.51.100.7');
  const flood: FakeLink[] = [];
  // One /64, beyond its share; then four more networks, beyond the total.
  for (let at = 0; at < 2 * networkMax; at += 1) flood.push(await dialFrom(`2001:db8:0:1::${at.toString(16)}`));
  for (let at = 0; at < 4 * networkMax; at += 1) flood.push(await dialFrom(`203.0.113.${at % 4}`));
  const newcomer = await dialFrom('198.51.100.8');
  // The first of the flood made room for its own network.
  expect(await flood[0]?.ended).toMatchObject({ closeCode: 1006 });
  for (const link of [honest, newcomer]) {
    link.send({ case: 'hello', value: { protocolVersion: 1, serverId: gateway.rows.serverId } });
    expect((await link.next('challenge')).nonce).toHaveLength(32);
  }
  open.send({ case: 'sync', value: {} });
  expect((await open.next('state')).state.length).toBeGreaterThan(0);
  for (const link of [...flood, honest, newcomer, open]) link.crash();
});

/** Opens a raw upgraded socket that never answers the close frame. */
async function openSilentSocket(): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET /agent HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString('latin1')).toContain('101 Switching Protocols');
  // RFC 6455, section 5.2: a text frame of one byte, masked with zeros.
  socket.write(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x78]));
  const [farewell] = (await once(socket, 'data')) as [Buffer];
  expect(farewell.toString('latin1')).toContain('link.malformed');
  return socket;
}

test('refused connections that never close take no slot', async () => {
  const rude = await Promise.all(Array.from({ length: unauthenticatedMax }, openSilentSocket));
  const link = await (await gateway.knownAgent()).connect(gateway.rows.serverId);
  await link.close();
  for (const socket of rude) socket.destroy();
});

test('an unauthenticated connection is cut off before a large message is complete; an agent gets a named error', async () => {
  const agent = await gateway.knownAgent();
  const stranger = await agent.dial();
  stranger.sendRaw(new Uint8Array(1.5 * messageBytesMax));
  expect((await stranger.ended).closeCode).toBe(1006);
  const link = await agent.connect(gateway.rows.serverId);
  link.sendRaw(new Uint8Array(3 * messageBytesMax));
  expect((await link.ended).closeCode).toBe(1009);
});
