// One connection of the fake agent: sends envelopes or raw bytes, hands out what came by kind, and tells how it ended.
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  AgentEnvelopeSchema,
  type GatewayEnvelope,
  GatewayEnvelopeSchema,
  type LinkError,
} from '@fairlead/contract/agent';
import { WebSocket } from 'ws';

export interface FakeLinkOptions {
  /** URL of the control plane, `ws://` or `wss://`, without the path. */
  readonly url: string;
  /** The certificate authority to trust, PEM. */
  readonly ca?: string;
  /** Lead of the agent's clock. */
  readonly clockOffsetMs?: number;
  /** X-Forwarded-For that the connection sends. */
  readonly forwardedFor?: string;
}

type AgentBody = NonNullable<MessageInitShape<typeof AgentEnvelopeSchema>['body']>;
type GatewayBody = Exclude<GatewayEnvelope['body'], { case: undefined }>;
type GatewayMessages = { [Body in GatewayBody as Body['case']]: Body['value'] };
type GatewayCase = keyof GatewayMessages;

/** End of a connection: the close code, and the error that the gateway sent before, if any. */
export class LinkEnded extends Error {
  override readonly name = 'LinkEnded';
  readonly closeCode: number;
  readonly error: LinkError | null;

  constructor(closeCode: number, error: LinkError | null) {
    super(`the link ended with ${closeCode}: ${error?.code ?? 'no error'}`);
    this.closeCode = closeCode;
    this.error = error;
  }
}

export interface FakeLink {
  send(body: AgentBody): void;
  /** A frame of any bytes, or a text frame. */
  sendRaw(data: Uint8Array | string): void;
  /** The next message of that kind, also one that came already; rejects when the link ends first. */
  next<Case extends GatewayCase>(kind: Case): Promise<GatewayMessages[Case]>;
  /** Takes what has come of that kind so far. */
  taken<Case extends GatewayCase>(kind: Case): GatewayMessages[Case][];
  readonly ended: Promise<LinkEnded>;
  /** Closes from this side. */
  close(): Promise<LinkEnded>;
  /** Drops the connection without a closing frame, as a crash would. */
  crash(): void;
}

interface Waiter {
  readonly kind: GatewayCase;
  readonly resolve: (value: never) => void;
  readonly reject: (error: LinkEnded) => void;
}

export async function openFakeLink(options: FakeLinkOptions): Promise<FakeLink> {
  const { url, ca, forwardedFor } = options;
  const socket = new WebSocket(`${url}/agent`, {
    ...(ca === undefined ? {} : { ca }),
    ...(forwardedFor === undefined ? {} : { headers: { 'x-forwarded-for': forwardedFor } }),
  });
  const inbox: GatewayBody[] = [];
  const waiters = new Set<Waiter>();
  const ended = Promise.withResolvers<LinkEnded>();
  const opened = Promise.withResolvers<void>();
  let over: LinkEnded | null = null;

  function send(body: AgentBody): void {
    socket.send(toBinary(AgentEnvelopeSchema, create(AgentEnvelopeSchema, { body })));
  }

  function take<Case extends GatewayCase>(kind: Case): GatewayMessages[Case] | null {
    const index = inbox.findIndex((body) => body.case === kind);
    const [body] = index < 0 ? [] : inbox.splice(index, 1);
    return body === undefined ? null : (body.value as GatewayMessages[Case]);
  }

  function deliver(): void {
    for (const waiter of waiters) {
      const value = take(waiter.kind);
      if (value === null) continue;
      waiters.delete(waiter);
      waiter.resolve(value as never);
    }
  }

  socket.binaryType = 'nodebuffer';
  socket.once('open', () => opened.resolve());
  socket.on('error', opened.reject);
  socket.on('message', (data: Buffer) => {
    const { body } = fromBinary(GatewayEnvelopeSchema, data);
    if (body.case === undefined) return;
    if (body.case === 'ping') {
      const agentUnixMs = BigInt(Date.now() + (options.clockOffsetMs ?? 0));
      send({ case: 'pong', value: { pingSentUnixMs: body.value.sentUnixMs, agentUnixMs } });
    }
    inbox.push(body);
    deliver();
  });
  socket.once('close', (closeCode: number) => {
    over = new LinkEnded(closeCode, take('error'));
    for (const waiter of waiters) waiter.reject(over);
    waiters.clear();
    ended.resolve(over);
  });
  await opened.promise;

  return {
    send,
    sendRaw: (data) => socket.send(data),
    next: async <Case extends GatewayCase>(kind: Case): Promise<GatewayMessages[Case]> => {
      const value = take(kind);
      if (value !== null) return value;
      if (over !== null) throw over;
      const waiting = Promise.withResolvers<GatewayMessages[Case]>();
      waiters.add({ kind, resolve: waiting.resolve, reject: waiting.reject });
      return waiting.promise;
    },
    taken: <Case extends GatewayCase>(kind: Case) => {
      const values: GatewayMessages[Case][] = [];
      for (let value = take(kind); value !== null; value = take(kind)) values.push(value);
      return values;
    },
    ended: ended.promise,
    close: () => {
      socket.close(1000);
      return ended.promise;
    },
    crash: () => socket.terminate(),
  };
}
