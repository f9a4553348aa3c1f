// Sends one request over verified HTTPS and HTTP/2, and compares the response. Invariant: accepts no certificate
// authority but the local agent's.
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Exchange } from './real-app.ts';

export interface Origin {
  /** Host for SNI and authority. */
  readonly host: string;
  readonly port: number;
  /** Certificate authority in PEM. */
  readonly ca: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const TIMEOUT_MS = 30_000;
const BODY_SHOWN_MAX = 300;

/** Sends one request on a connection of its own. */
export async function ask(origin: Origin, exchange: Exchange, path: string): Promise<Answer> {
  const { host, port, ca } = origin;
  // `.localhost` names are this machine, whatever the resolver returns.
  const socket = connectTls({ host: '127.0.0.1', port, servername: host, ca, ALPNProtocols: ['h2'] });
  await secured(socket);
  const session = connect(`https://${host}:${port}`, { createConnection: () => socket });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      session.once('error', reject);
      const stream = session.request(
        { ':method': exchange.method ?? 'GET', ':path': path, accept: '*/*', ...exchange.headers },
        { signal: AbortSignal.timeout(TIMEOUT_MS) },
      );
      let headers: IncomingHttpHeaders = {};
      let status = 0;
      const chunks: Buffer[] = [];
      stream.once('response', (head) => {
        headers = head;
        status = head[':status'] ?? 0;
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('end', () => resolve({ status, headers, body: Buffer.concat(chunks).toString('utf8') }));
      stream.once('error', reject);
      stream.end(exchange.body);
    });
  } finally {
    session.close();
  }
}

function secured(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol === 'h2') resolve();
      else reject(new Error(`The proxy chose ${socket.alpnProtocol || 'no protocol'} instead of HTTP/2.`));
    });
  });
}

/** Returns the fault of a response as a sentence; undefined for the expected response. */
export function faultOf(exchange: Exchange, path: string, { status, headers, body }: Answer): string | undefined {
  const wanted = exchange.status ?? 200;
  const name = `${exchange.method ?? 'GET'} ${path}`;
  if (status !== wanted) return `${name} answered ${status} instead of ${wanted}: ${brief(body)}`;
  const type = headers['content-type'] ?? '';
  if (exchange.contentType !== undefined && !type.startsWith(exchange.contentType))
    return `${name} answered ${JSON.stringify(type)} instead of ${JSON.stringify(exchange.contentType)}.`;
  if (exchange.contains !== undefined && !body.includes(exchange.contains))
    return `${name} lacks ${JSON.stringify(exchange.contains)}: ${brief(body)}`;
  return undefined;
}

/** Returns the path of an exchange; undefined if the first page has no match for its pattern. */
export function pathOf({ path }: Exchange, firstPage: string): string | undefined {
  if (typeof path === 'string') return path;
  const found = path.exec(firstPage);
  if (found === null) return undefined;
  const text = found[1] ?? found[0];
  return text.startsWith('/') ? text : `/${text}`;
}

function brief(body: string): string {
  return JSON.stringify(body.length > BODY_SHOWN_MAX ? `${body.slice(0, BODY_SHOWN_MAX)}…` : body);
}
