// An agent that speaks the real link from Node: it makes a key, enrols, proves itself, syncs, reports and pushes, and can
// misbehave on purpose. For tests only; it runs no app and keeps nothing.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Enrolled, EnrolSchema, HelloSchema, type Welcome } from '@fairlead/contract/agent';
import type { Capability } from '@fairlead/contract/capabilities';
import { enrolMessage, helloMessage, publicKeyBytes, sealingMessage, signMessage } from '@fairlead/contract/signing';
import { type FakeLink, type FakeLinkOptions, openFakeLink } from './fake-link.ts';

export interface FakeAgentOptions extends FakeLinkOptions {
  readonly capabilities?: readonly Capability[];
  /** Age recipient that it reports; without one it gets no secrets. */
  readonly recipient?: string;
}

export interface FakeAgent {
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** Uses a token up; rejects with the LinkEnded of the gateway. */
  enrol(token: string, change?: EnrolChange): Promise<Enrolled>;
  /** Opens a session as that server. */
  connect(serverId: string, change?: HelloChange): Promise<OpenFakeLink>;
  /** A bare connection, before any message. */
  dial(): Promise<FakeLink>;
}

export interface OpenFakeLink extends FakeLink {
  readonly welcome: Welcome;
}

type EnrolChange = Omit<MessageInitShape<typeof EnrolSchema>, '$typeName'>;
type HelloChange = Omit<MessageInitShape<typeof HelloSchema>, '$typeName'>;

const agentVersion = '0.0.0-fake';
const host = {
  hostname: 'fake-host',
  os: 'Debian GNU/Linux 12 (bookworm)',
  kernel: '6.1.0',
  arch: 'x86_64',
  cpuCount: 2,
  memoryBytes: 8_589_934_592n,
  diskBytes: 107_374_182_400n,
  isolationOff: [],
};

export function createFakeAgent(options: FakeAgentOptions): FakeAgent {
  const privateKey: KeyObject = generateKeyPairSync('ed25519').privateKey;
  const publicKey = publicKeyBytes(privateKey);
  const capabilities = [...(options.capabilities ?? ['app', 'benchmark', 'build', 'build.plan', 'route'])];

  const { recipient } = options;
  const sealing =
    recipient === undefined
      ? {}
      : { sealing: { recipient, signature: signMessage(privateKey, sealingMessage(recipient)) } };

  return {
    publicKey,
    dial: () => openFakeLink(options),
    enrol: async (token, change = {}) => {
      const link = await openFakeLink(options);
      const signature = signMessage(privateKey, enrolMessage(token, publicKey));
      const request = { token, publicKey, signature, host, agentVersion, ...sealing, ...change };
      link.send({ case: 'enrol', value: create(EnrolSchema, request) });
      const enrolled = await link.next('enrolled');
      await link.ended;
      return enrolled;
    },
    connect: async (serverId, change = {}) => {
      const link = await openFakeLink(options);
      const hello = { protocolVersion: 1, serverId, agentVersion, capabilities, host, ...sealing, ...change };
      link.send({ case: 'hello', value: create(HelloSchema, hello) });
      const { nonce } = await link.next('challenge');
      link.send({ case: 'proof', value: { signature: signMessage(privateKey, helloMessage(serverId, nonce)) } });
      const welcome = await link.next('welcome');
      return Object.assign(link, { welcome });
    },
  };
}
