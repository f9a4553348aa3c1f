// Sends one HTTPS request to the proxy of this machine under a name that it serves.
// Invariant: accepts the expected certificate and no other one.
import { X509Certificate } from 'node:crypto';
import { request } from 'node:https';

const timeoutMs = 5_000;

export interface ServedRequest {
  /** Name for SNI, the certificate and the Host header. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Certificate that the proxy should serve, DER. */
  readonly leaf: Uint8Array;
}

/** Returns the status. Rejects if the connection, the handshake or the certificate fails. */
export function requestServed({ host, port, path, leaf }: ServedRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path,
        servername: host,
        headers: { host: port === 443 ? host : `${host}:${port}` },
        // The leaf itself is the trust anchor, so that any authority can have issued it.
        ca: new X509Certificate(leaf).toString(),
        allowPartialTrustChain: true,
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
        response.once('error', reject);
      },
    );
    outgoing.once('error', reject);
    outgoing.end();
  });
}
