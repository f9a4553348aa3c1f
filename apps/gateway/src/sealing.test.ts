// Tests of the agent's sealing key (the key that secrets are encrypted to): accepted only with the agent's signature,
// and stored.
import { fromBinary } from '@bufbuild/protobuf';
import { DesiredStateSchema } from '@fairlead/contract/agent';
import { createFakeAgent } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from './testing.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

// Valid age recipient by its form only; nothing is sealed to it here.
const recipient = `age1${'q'.repeat(58)}`;
const other = `age1${'p'.repeat(58)}`;
const row = (id: string) => gateway.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id } }));

test('a key from enrolment is stored; a repeated or omitted key changes nothing', async () => {
  const { token } = await gateway.mintEnrolment('sealed');
  const agent = createFakeAgent({ url: gateway.url, recipient });
  const { serverId } = await agent.enrol(token);
  expect(await row(serverId)).toMatchObject({ sealingRecipient: recipient });
  const before = (await row(serverId)).desiredNumber;
  await (await agent.connect(serverId)).close();
  expect((await row(serverId)).desiredNumber).toBe(before);
  await (await agent.connect(serverId, { sealing: undefined })).close();
  expect(await row(serverId)).toMatchObject({ sealingRecipient: recipient, desiredNumber: before });
});

test('a key that the agent did not sign ends the connection, at enrolment and at a hello', async () => {
  const forged = { sealing: { recipient: other, signature: new Uint8Array(64) } };
  const ended = expect.objectContaining({ error: expect.objectContaining({ code: 'link.proof_wrong' }) });
  const { token } = await gateway.mintEnrolment('forged');
  await expect(createFakeAgent({ url: gateway.url }).enrol(token, forged)).rejects.toEqual(ended);
  const agent = await gateway.knownAgent();
  await expect(agent.connect(gateway.rows.serverId, forged)).rejects.toEqual(ended);
  expect((await row(gateway.rows.serverId)).sealingRecipient).toBeNull();
});

test('a signed key that is no age recipient is malformed', async () => {
  const { token } = await gateway.mintEnrolment('nonsense');
  const agent = createFakeAgent({ url: gateway.url, recipient: 'age1nonsense' });
  await expect(agent.enrol(token)).rejects.toEqual(
    expect.objectContaining({ error: expect.objectContaining({ code: 'link.malformed' }) }),
  );
});

test('a state without secrets needs no capability for them', async () => {
  const agent = await gateway.knownAgent();
  const link = await agent.connect(gateway.rows.serverId);
  link.send({ case: 'sync', value: {} });
  const state = fromBinary(DesiredStateSchema, (await link.next('state')).state);
  expect(state.requires).not.toContain('secret');
  await link.close();
});
