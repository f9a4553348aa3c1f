// Asks whether a proxy of the organization answers at an address. Proxies answer challenges of certificate authorities for a
// name that nobody else knows, so another web server can't be taken for one. Invariant: it passes on nothing that it reads.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { connect } from 'node:tls';

export interface PortCheck {
  /** Name that the proxies have an answer for. */
  readonly name: string;
  /** 32 bytes in base64url. */
  readonly answer: string;
}

export interface Port {
  readonly address: string;
  readonly port: number;
}

/** `none`: nothing accepts connections. `other`: something does that doesn't know the answer. Null: no route leads there. */
export type PortAnswer = 'proxy' | 'other' | 'none' | null;

const timeoutMs = 5_000;
const bodyBytesMax = 1024;
/** The fault is on this side, such as a control plane without IPv6. */
const noRoute = ['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

/** Sends an HTTP-01 challenge with a token of its own (RFC 8555, section 8.3). */
export function askHttpPort({ address, port }: Port, { name, answer }: PortCheck): Promise<PortAnswer> {
  const { promise, resolve } = Promise.withResolvers<PortAnswer>();
  const token = randomBytes(16).toString('base64url');
  let isConnected = false;
  const sent = request({
    host: address,
    port,
    path: `/.well-known/acme-challenge/${token}`,
    headers: { host: name },
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  });
  sent.once('socket', (socket) => {
    socket.once('connect', () => {
      isConnected = true;
    });
  });
  sent.once('response', (response) => {
    let body = '';
    response.setEncoding('latin1');
    response.on('data', (part: string) => {
      body += part;
      if (body.length > bodyBytesMax) sent.destroy(new Error('the answer is too long'));
    });
    response.once('error', () => resolve('other'));
    response.once('end', () => resolve(body === `${token}.${answer}` ? 'proxy' : 'other'));
  });
  sent.once('error', (error) => resolve(failure(error, isConnected)));
  sent.end();
  return promise;
}

/** Makes a handshake of TLS-ALPN-01 (RFC 8737, section 3): its certificate has the answer. */
export function askTlsPort({ address, port }: Port, { name, answer }: PortCheck): Promise<PortAnswer> {
  const { promise, resolve } = Promise.withResolvers<PortAnswer>();
  let isConnected = false;
  // No authority vouches for the certificate of a challenge: the answer in it does.
  const options = { servername: name, ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false };
  const socket = connect({ host: address, port, ...options });
  const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), timeoutMs);
  socket.once('connect', () => {
    isConnected = true;
  });
  socket.once('secureConnect', () => {
    const certificate = socket.getPeerCertificate().raw;
    resolve(certificate?.includes(Buffer.from(answer, 'base64url')) === true ? 'proxy' : 'other');
    socket.destroy();
  });
  socket.once('error', (error) => resolve(failure(error, isConnected)));
  socket.once('close', () => {
    clearTimeout(timer);
    resolve(isConnected ? 'other' : 'none');
  });
  return promise;
}

function failure(error: Error, isConnected: boolean): PortAnswer {
  if (isConnected) return 'other';
  return 'code' in error && noRoute.includes(String(error.code)) ? null : 'none';
}
