// Front of a certificate authority that causes the problems which Pebble cannot: it is down, limits orders, no longer accepts
// accounts, rejects nonces, obeys CAA records, or has a wrong clock. It passes on everything else, with the name that it was called by.
import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Pebble } from './pebble.ts';
import { signAt } from './skewed-authority.ts';

export interface AcmeFront {
  readonly directoryUrl: string;
  /** Closes every connection without an answer. */
  isDown: boolean;
  /** Seconds of Retry-After with which new orders are refused; null: they are not. */
  limitSeconds: number | null;
  /** Refuses every third signed request for its nonce. */
  rejectsNonces: boolean;
  /** Name by which CAA records allow it. */
  readonly caaIdentity: string;
  /** Hosts that it refuses for their CAA records, which Pebble does not read. */
  readonly caaForbids: Set<string>;
  /** Issues certificates whose time begins so much later; null: Pebble's. */
  clockAheadMs: number | null;
  /** Number of nonces that it rejected. */
  readonly rejected: number;
  /** Deactivates all accounts that were registered so far. */
  revokeAccounts(): void;
  /** Revokes a certificate (DER) with its own key (RFC 8555, 7.6). */
  revoke(leaf: Buffer, key: KeyObject): Promise<void>;
  close(): Promise<void>;
}

export interface AcmeFrontOptions {
  readonly address?: string;
  /** Folder for files of the authority with a wrong clock. */
  readonly folder: string;
}

const PROBLEM = 'urn:ietf:params:acme:error:';
/** Pebble refuses requests without a name of their program. */
const AGENT = { 'user-agent': 'fairlead-test' };
const CAA_IDENTITY = 'authority.test';
const SKEWED_LIFETIME_MS = 600_000;

export async function startAcmeFront(
  pebble: Pebble,
  { address = '127.0.0.1', folder }: AcmeFrontOptions,
): Promise<AcmeFront> {
  const pebbleUrl = new URL(pebble.directoryUrl);
  const ca = readFileSync(pebble.caFile);
  const keys = new Set<string>();
  let revoked = new Set<string>();
  let [rejected, signed] = [0, 0];
  /** Request (DER) of the newest order. */
  let certificateRequest = Buffer.alloc(0);

  const server = createServer({ cert: ca, key: readFileSync(pebble.keyFile) }, (incoming, response) => {
    respond(incoming, response).catch(() => response.destroy());
  });

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (front.isDown) return void incoming.socket.destroy();
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const problem = problemOf(incoming.url ?? '', body);
    if (problem === null) {
      const { csr } = payloadOf(body);
      if (csr !== undefined) certificateRequest = Buffer.from(csr, 'base64url');
      return forward(incoming, body, response);
    }
    const { type, detail, status, headers } = problem;
    // Every refusal has a nonce for the next attempt (RFC 8555, 6.5).
    const nonce = await freshNonce();
    response.writeHead(status, { 'content-type': 'application/problem+json', 'replay-nonce': nonce, ...headers });
    response.end(JSON.stringify({ type: `${PROBLEM}${type}`, detail, status }));
  }

  function problemOf(url: string, body: Buffer) {
    if (body.length === 0) return null;
    const header = headerOf(body);
    if (front.rejectsNonces) {
      signed += 1;
      if (signed % 3 === 0) {
        rejected += 1;
        return { type: 'badNonce', detail: 'rejected on purpose', status: 400, headers: {} };
      }
    }
    const isAccount = /sign-me-up/.test(url);
    const key = JSON.stringify(header.jwk ?? null);
    if (isAccount && revoked.has(key)) {
      return { type: 'unauthorized', detail: 'the account is deactivated', status: 403, headers: {} };
    }
    if (isAccount) keys.add(key);
    const forbidden = payloadOf(body).identifiers?.find(({ value }) => front.caaForbids.has(value))?.value;
    if (forbidden !== undefined) {
      return { type: 'caa', detail: `CAA record for ${forbidden} prevents issuance`, status: 403, headers: {} };
    }
    if (front.limitSeconds !== null && /order-plz/.test(url)) {
      const headers = { 'retry-after': String(front.limitSeconds) };
      return { type: 'rateLimited', detail: 'too many certificates already issued', status: 429, headers };
    }
    return null;
  }

  const freshNonce = () =>
    new Promise<string>((resolve, reject) => {
      const sent = request(`${pebbleUrl.origin}/nonce-plz`, { method: 'HEAD', headers: AGENT, ca }, (response) => {
        response.resume();
        resolve(String(response.headers['replay-nonce']));
      });
      sent.once('error', reject);
      sent.end();
    });

  function forward(incoming: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const options = { method: incoming.method ?? 'GET', headers: incoming.headers, ca };
      const sent = request(`${pebbleUrl.origin}${incoming.url}`, options, (answer) => {
        const replaced = replacementOf(incoming.url ?? '');
        if (replaced !== null && answer.statusCode === 200) {
          return void replace(answer, response, replaced).then(resolve, reject);
        }
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response).once('finish', resolve);
      });
      sent.once('error', reject);
      sent.end(body);
    });
  }

  /** Returns what changes the body of an answer; null: nothing does. */
  function replacementOf(url: string): ((body: string) => Promise<string>) | null {
    if (url === pebbleUrl.pathname) {
      return (body) => {
        const directory = JSON.parse(body) as { meta?: object };
        return Promise.resolve(
          JSON.stringify({ ...directory, meta: { ...directory.meta, caaIdentities: [CAA_IDENTITY] } }),
        );
      };
    }
    const { clockAheadMs } = front;
    if (clockAheadMs === null || !url.startsWith('/certZ/')) return null;
    const startMs = Date.now() + clockAheadMs;
    const times = [new Date(startMs), new Date(startMs + SKEWED_LIFETIME_MS)] as const;
    return () => signAt(join(folder, 'skewed'), certificateRequest, ...times);
  }

  async function replace(
    answer: IncomingMessage,
    response: ServerResponse,
    change: (body: string) => Promise<string>,
  ): Promise<void> {
    let body = '';
    for await (const part of answer) body += String(part);
    const { 'content-length': _, ...headers } = answer.headers;
    response.writeHead(200, headers).end(await change(body));
  }

  async function revoke(leaf: Buffer, key: KeyObject): Promise<void> {
    const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
    const url = `${pebbleUrl.origin}/revoke-cert`;
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const header = encode({ alg: 'ES256', jwk: { crv, kty, x, y }, nonce: await freshNonce(), url });
    const payload = encode({ certificate: leaf.toString('base64url') });
    const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' });
    const body = JSON.stringify({ protected: header, payload, signature: signature.toString('base64url') });
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { ...AGENT, 'content-type': 'application/jose+json' };
      const sent = request(url, { method: 'POST', headers, ca }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.once('error', reject);
      sent.end(body);
    });
    if (status !== 200) throw new Error(`Pebble answered ${status} to the revocation`);
  }

  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const front = {
    directoryUrl: `https://${address}:${(server.address() as AddressInfo).port}${pebbleUrl.pathname}`,
    isDown: false,
    limitSeconds: null as number | null,
    rejectsNonces: false,
    caaIdentity: CAA_IDENTITY,
    caaForbids: new Set<string>(),
    clockAheadMs: null as number | null,
    revoke,
    get rejected() {
      return rejected;
    },
    revokeAccounts: () => {
      revoked = new Set(keys);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return front;
}

interface Payload {
  /** Request of a certificate, DER in base64url. */
  readonly csr?: string;
  readonly identifiers?: readonly { readonly value: string }[];
}

function payloadOf(body: Buffer): Payload {
  if (body.length === 0) return {};
  const { payload } = JSON.parse(body.toString('utf8')) as { payload: string };
  // A POST-as-GET has none (RFC 8555, 6.3).
  return payload === '' ? {} : (JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Payload);
}

function headerOf(body: Buffer): { readonly jwk?: object } {
  const { protected: header } = JSON.parse(body.toString('utf8')) as { protected: string };
  return JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
}
