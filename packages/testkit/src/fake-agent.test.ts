// The fake agent against the least of a gateway: what it signs, and what it makes of an end.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type AgentEnvelope, AgentEnvelopeSchema, GatewayEnvelopeSchema } from '@fairlead/contract/agent';
import { enrolMessage, helloMessage, verifyMessage } from '@fairlead/contract/signing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { createFakeAgent } from './fake-agent.ts';

type Reply = NonNullable<MessageInitShape<typeof GatewayEnvelopeSchema>['body']>;

let server: WebSocketServer;
let answer: (body: AgentEnvelope['body'], socket: WebSocket) => Reply | null;
beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const reply = answer(fromBinary(AgentEnvelopeSchema, data).body, socket);
      if (reply !== null) socket.send(toBinary(GatewayEnvelopeSchema, create(GatewayEnvelopeSchema, { body: reply })));
    });
  });
  await once(server, 'listening');
});
afterEach(async () => {
  const closed = once(server, 'close');
  server.close();
  await closed;
});

const url = () => `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;

test('the agent signs its enrolment and its hello with the key it presents', async () => {
  const agent = createFakeAgent({ url: url() });
  const nonce = new Uint8Array(32).fill(3);
  const verified: boolean[] = [];
  answer = (body, socket) => {
    switch (body.case) {
      case 'enrol':
        verified.push(
          verifyMessage(agent.publicKey, enrolMessage('token', body.value.publicKey), body.value.signature),
        );
        queueMicrotask(() => socket.close(1000));
        return { case: 'enrolled', value: { serverId: 'srv_1' } };
      case 'hello':
        return { case: 'challenge', value: { nonce } };
      case 'proof':
        verified.push(verifyMessage(agent.publicKey, helloMessage('srv_1', nonce), body.value.signature));
        return { case: 'welcome', value: { pushAckedSequence: 5n } };
      default:
        return null;
    }
  };
  expect((await agent.enrol('token')).serverId).toBe('srv_1');
  const link = await agent.connect('srv_1');
  expect(link.welcome.pushAckedSequence).toBe(5n);
  expect(verified).toEqual([true, true]);
  await link.close();
});

test('an end has its close code and the error that was sent before', async () => {
  answer = (_, socket) => {
    queueMicrotask(() => socket.close(1008, 'link.server_unknown'));
    return { case: 'error', value: { code: 'link.server_unknown' } };
  };
  await expect(createFakeAgent({ url: url() }).connect('srv_2')).rejects.toMatchObject({
    closeCode: 1008,
    error: { code: 'link.server_unknown' },
  });
});
