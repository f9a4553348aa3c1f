// One HTTPS request to a local host name, with the local agent's own authority pinned. Must never accept another one.
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { type RequestOptions, request } from 'node:https';

export interface PinnedRequest {
  /** Sent as SNI and Host. */
  readonly host: string;
  readonly port: number;
  /** This machine unless it says otherwise. */
  readonly address?: string;
  readonly path: string;
  /** PEM of the authority. */
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

/** The same, with the headers of the answer. */
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
    // `.localhost` names are this machine, whatever its resolver says.
    host: address ?? '127.0.0.1',
    servername: host,
    port,
    path,
    headers: { ...headers, host: `${host}:${port}` },
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
