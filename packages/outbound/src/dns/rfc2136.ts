// Dynamic updates of a zone's primary name server (RFC 2136) over TCP, signed with a shared key (TSIG).
import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { decodeResponse, encodeUpdate, type Update, type UpdateResponse } from './dns-message.ts';
import { DnsProviderError } from './error.ts';
import type { DnsCredentials, DnsProvider, DnsProviderOptions } from './provider.ts';

const ttlSeconds = 60;
const timeoutMs = 10_000;
const responseBytesMax = 64 * 1024;
const codes: Readonly<Record<number, string>> = {
  1: 'it could not read the update',
  2: 'it failed',
  4: 'it takes no updates',
  5: 'it rejects updates of this name with this key',
  9: 'it is not the primary server of the zone, or it does not know the key',
  10: 'the name is not in the zone',
};

type Credentials = Extract<DnsCredentials, { kind: 'rfc2136' }>;

export function createRfc2136(credentials: Credentials, { mayCall, now }: DnsProviderOptions): DnsProvider {
  const { server, keyName, algorithm, secret } = credentials;

  async function update(zone: string, change?: Update['change']): Promise<void> {
    const id = randomInt(0x10000);
    const unixSeconds = Math.floor((now?.() ?? new Date()).getTime() / 1000);
    const key = { name: keyName, algorithm, secret };
    const message = encodeUpdate({ id, zone, ...(change === undefined ? {} : { change }) }, key, unixSeconds);
    const { code } = await send(await addressOf(server, mayCall), message, id);
    if (code !== 0) {
      const reason = codes[code] ?? `it answered with code ${code}`;
      throw new DnsProviderError(
        code === 2 ? 'unreachable' : 'refused',
        `The name server rejected the update: ${reason}.`,
      );
    }
  }

  return {
    findZone: (zone) => update(zone),
    putTxt: ({ zone, name, value }) => update(zone, { action: 'add', name, value, ttl: ttlSeconds }),
    removeTxt: ({ zone, name, value }) => update(zone, { action: 'delete', name, value, ttl: ttlSeconds }),
  };
}

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Resolves the server once and checks the address that is then called. */
async function addressOf(server: string, mayCall: (address: string) => boolean): Promise<ServerAddress> {
  const [, bracketed, plain, port] = /^(?:\[([\da-f:]+)\]|([^:]+))(?::(\d+))?$/i.exec(server) ?? [];
  const name = bracketed ?? plain ?? '';
  const found = await lookup(name, { all: true }).catch((error: unknown) => {
    throw new DnsProviderError('unreachable', `The name server ${name} can't be resolved.`, error);
  });
  const address = found.find(({ address: one }) => mayCall(one))?.address;
  if (address === undefined) {
    throw new DnsProviderError(
      'refused',
      `The name server ${name} has a private address. The operator can allow it with the setting outbound_allow.`,
    );
  }
  return { host: address, port: Number(port ?? 53) };
}

function send({ host, port }: ServerAddress, message: Buffer, id: number): Promise<UpdateResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    const fail = (reason: string) => {
      socket.destroy();
      reject(new DnsProviderError('unreachable', `The name server can't be reached: ${reason}.`));
    };
    const timer = setTimeout(() => fail('it did not answer in time'), timeoutMs);
    socket.once('close', () => {
      clearTimeout(timer);
      fail('it closed the connection');
    });
    socket.once('error', (error) => fail(error.message));
    socket.on('data', (part) => {
      received = Buffer.concat([received, part]);
      if (received.length > responseBytesMax + 2) return fail('its answer is too long');
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const response = decodeResponse(received.subarray(2, 2 + received.readUInt16BE(0)));
      if (response === null || response.id !== id) return fail('its answer is for another request');
      resolve(response);
      socket.end();
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
  });
}
