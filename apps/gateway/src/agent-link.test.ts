// Integration tests of the agent link: a real gateway, a real database, real WebSockets.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { AgentEnvelopeSchema, type DesiredState, DesiredStateSchema, type SignedState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { stateMessage, verifyMessage } from '@fairlead/contract/signing';
import { forOrganization } from '@fairlead/core/kernel';
import { bumpServer } from '@fairlead/core/server';
import { insertOrganizationRows } from '@fairlead/db/testing';
import { createFakeAgent } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handshakeBytesMax, messageBytesMax } from './session/read-message.ts';
import { startTestGateway, type TestGateway } from './testing.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const endedWith = (code: string, closeCode = 1008) =>
  expect.objectContaining({ closeCode, error: expect.objectContaining({ code }) });

async function bump(): Promise<void> {
  const organizationId = parseId('org', gateway.rows.organizationId);
  await gateway.system((ctx) => bumpServer(forOrganization(ctx, organizationId), gateway.rows.serverId));
}

function readState(signed: SignedState): DesiredState {
  return fromBinary(DesiredStateSchema, signed.state);
}

function serverRow(serverId = gateway.rows.serverId) {
  return gateway.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id: serverId } }));
}

test('an enrolment token makes one server, once, and pins the signing key', async () => {
  const { token, enrolmentId } = await gateway.mintEnrolment('edge-1');
  const agent = createFakeAgent({ url: gateway.url });
  const enrolled = await agent.enrol(token);
  expect(enrolled.serverName).toBe('edge-1');
  expect(enrolled.signingKeys).toHaveLength(1);

  const enrolment = await gateway.system(({ tx }) =>
    tx.serverEnrolment.findUniqueOrThrow({ where: { id: enrolmentId } }),
  );
  expect(enrolment).toMatchObject({ serverId: enrolled.serverId, usedAt: expect.any(Date) });
  const thief = createFakeAgent({ url: gateway.url });
  await expect(thief.enrol(token)).rejects.toEqual(endedWith('link.enrolment_used'));

  const link = await agent.connect(enrolled.serverId);
  link.send({ case: 'sync', value: {} });
  const signed = await link.next('state');
  const [key] = enrolled.signingKeys;
  expect(key?.keyId).toBe(signed.keyId);
  expect(verifyMessage(key?.publicKey ?? new Uint8Array(), stateMessage(signed.state), signed.signature)).toBe(true);
  await link.close();
});

test('when two agents present one token at once, only one becomes the server', async () => {
  const { token } = await gateway.mintEnrolment('edge-race');
  const results = await Promise.allSettled([1, 2, 3].map(() => createFakeAgent({ url: gateway.url }).enrol(token)));
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toEqual(endedWith('link.enrolment_used'));
  }
});

test('tokens that are unknown or expired are refused by name', async () => {
  const agent = createFakeAgent({ url: gateway.url });
  await expect(agent.enrol('enrol_of_nobody')).rejects.toEqual(endedWith('link.enrolment_invalid'));
  const { token, enrolmentId } = await gateway.mintEnrolment('edge-late');
  await gateway.system(({ tx }) =>
    tx.serverEnrolment.update({ where: { id: enrolmentId }, data: { expiresAt: new Date(0) } }),
  );
  await expect(agent.enrol(token)).rejects.toEqual(endedWith('link.enrolment_expired'));
});

test('an agent with another key than its server enrolled with is refused', async () => {
  await gateway.knownAgent();
  const stranger = createFakeAgent({ url: gateway.url });
  await expect(stranger.connect(gateway.rows.serverId)).rejects.toEqual(endedWith('link.proof_wrong'));
  await expect(stranger.connect('srv_00000000000000000000')).rejects.toEqual(endedWith('link.server_unknown'));
});

test('a malformed frame ends its own session with a named error and no other', async () => {
  const agent = await gateway.knownAgent();
  const good = await agent.connect(gateway.rows.serverId);
  const bad = [new Uint8Array([0x0a, 0xff, 0x01]), '{"hello":{}}', new Uint8Array(), Buffer.from('0f', 'hex')];
  for (const data of bad) {
    const link = await agent.dial();
    link.sendRaw(data);
    expect(await link.ended).toEqual(endedWith('link.malformed'));
  }
  const large = await agent.dial();
  large.sendRaw(new Uint8Array(handshakeBytesMax + 1));
  expect(await large.ended).toEqual(endedWith('link.too_large', 1009));

  good.send({ case: 'sync', value: {} });
  expect(readState(await good.next('state')).serverId).toBe(gateway.rows.serverId);
  await good.close();
});

test('messages that would grow large in memory end their own session before they are decoded, and no other', async () => {
  const other = await insertOrganizationRows(gateway.db.database, 'bystander');
  const bystander = await (await gateway.knownAgent(other)).connect(other.serverId);
  const lines = Array.from({ length: 200_000 }, () => ({}));
  const body = { case: 'log' as const, value: { deploymentId: gateway.rows.deploymentId, lines } };
  const bomb = toBinary(
    AgentEnvelopeSchema,
    create(AgentEnvelopeSchema, { body: { case: 'push', value: { sequence: 1n, body } } }),
  );
  const agent = await gateway.knownAgent();
  for (const data of [bomb, new Uint8Array(messageBytesMax + 1)]) {
    const link = await agent.connect(gateway.rows.serverId);
    for (let time = 0; time < 20; time += 1) link.sendRaw(data);
    expect(await link.ended).toEqual(endedWith('link.too_large', 1009));
  }
  bystander.send({ case: 'sync', value: {} });
  expect(readState(await bystander.next('state')).serverId).toBe(other.serverId);
  await bystander.close();
});

test('a new desired version is announced at once, and the next sync carries it', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  await bump();
  const { version } = await link.next('desired');
  expect(version?.number).toBe((link.welcome.desired?.number ?? 0n) + 1n);
  link.send({ case: 'sync', value: {} });
  const state = readState(await link.next('state'));
  expect(state.version).toEqual(version);
  expect(state.apps.map((app) => app.appId)).toEqual([gateway.rows.appId]);
  await link.close();
});

test('one version is signed with the same bytes every time', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  link.send({ case: 'sync', value: {} });
  const first = await link.next('state');
  link.send({ case: 'sync', value: {} });
  expect(await link.next('state')).toEqual(first);
  await link.close();
});

test('a report is acknowledged once it is stored', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  const version = link.welcome.desired ?? { epoch: 0, number: 0n };
  link.send({ case: 'report', value: { reportId: 9n, applied: { epoch: version.epoch, number: version.number } } });
  expect((await link.next('reportAck')).reportId).toBe(9n);
  expect(await serverRow()).toMatchObject({ appliedEpoch: version.epoch, appliedNumber: version.number });
  await link.close();
});

test('a second connection of the same server ends the first, and the server stays connected', async () => {
  const agent = await gateway.knownAgent();
  const first = await agent.connect(gateway.rows.serverId);
  const second = await agent.connect(gateway.rows.serverId);
  expect(await first.ended).toEqual(endedWith('link.replaced'));
  second.send({ case: 'sync', value: {} });
  await second.next('state');
  expect((await serverRow()).connectedGateway).toMatch(/^test-gateway#/);
  await second.close();
});

test('a server is connected while its session lives and not after', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  expect(await serverRow()).toMatchObject({
    connectedGateway: expect.stringMatching(/^test-gateway#/),
    capabilities: ['app', 'benchmark', 'build', 'build.plan', 'route'],
    hostInfo: expect.objectContaining({ hostname: 'fake-host', memoryBytes: 8_589_934_592 }),
  });
  link.crash();
  await expect.poll(async () => (await serverRow()).connectedGateway).toBeNull();
});

test("an agent's clock offset is measured at once, and a large one is logged", async () => {
  const agent = await gateway.knownAgent(gateway.rows, 60_000);
  const link = await agent.connect(gateway.rows.serverId);
  await expect.poll(async () => (await serverRow()).clockOffsetMs).toBeGreaterThan(59_000);
  expect(gateway.complaints.join('\n')).toContain("a server's clock is off");
  await link.close();
});

test('a gateway that stops says so, closes its sessions, and its successor loads the same key', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  link.send({ case: 'sync', value: {} });
  const before = await link.next('state');
  const ended = link.ended;
  await gateway.restart();
  expect(await ended).toEqual(endedWith('link.shutting_down', 1012));
  expect((await serverRow()).connectedGateway).toBeNull();

  const again = await agent.connect(gateway.rows.serverId);
  again.send({ case: 'sync', value: {} });
  expect((await again.next('state')).keyId).toBe(before.keyId);
  await again.close();
});

test('a push with an impossible sequence number is malformed', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  link.send({ case: 'push', value: { sequence: 2n ** 64n - 1n } });
  expect(await link.ended).toEqual(endedWith('link.malformed'));
});

test('a connected agent is notified when its server is deleted', async () => {
  const { token } = await gateway.mintEnrolment('short-lived');
  const agent = createFakeAgent({ url: gateway.url });
  const { serverId } = await agent.enrol(token);
  const link = await agent.connect(serverId);
  await gateway.system(({ tx }) => tx.server.delete({ where: { id: serverId } }));
  link.send({ case: 'report', value: { reportId: 1n } });
  expect(await link.ended).toEqual(endedWith('link.server_unknown'));
  await expect(agent.connect(serverId)).rejects.toEqual(endedWith('link.server_unknown'));
});
