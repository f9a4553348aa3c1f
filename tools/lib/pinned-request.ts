// Sends one HTTPS request to a local host name. Invariant: accepts the local agent's certificate authority and no
// other.
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';

export interface PinnedRequest {
  /** Host for SNI and the Host header. */
  readonly host: string;
  readonly port: number;
  /** Address to connect to. Default: loopback. */
  readonly address?: string;
  readonly path: string;
  /** File with the certificate authority in PEM. */
  readonly caFile: string;
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PinnedResponse {
  readonly status: number;
  readonly body: string;
}

export interface PinnedAnswer extends PinnedResponse {
  readonly headers: IncomingHttpHeaders;
}

export async function requestPinned(wanted: PinnedRequest): Promise<PinnedResponse> {
  const { status, body } = await answerPinned(wanted);
  return { status, body };
}

/** Sends a request and returns the response headers as well. */
export function answerPinned({
  host,
  address,
  port,
  path,
  caFile,
  timeoutMs = 5000,
  headers = {},
}: PinnedRequest): Promise<PinnedAnswer> {
  const options: RequestOptions = {
    // `.localhost` names are this machine, whatever the resolver returns.
    host: address ?? '127.0.0.1',
    // Clients send no name for an address (RFC 6066, 3).
    servername: isIP(host) === 0 ? host : '',
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    port,
    path,
    headers: { ...headers, host: `${isIP(host) === 6 ? `[${host}]` : host}:${port}` },
    ca: readFileSync(caFile),
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8'),
          headers: response.headers,
        }),
      );
      response.once('error', reject);
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}
