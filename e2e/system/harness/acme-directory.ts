// Directory of a certificate authority that records what its clients send, for tests of the settings. It creates
// accounts (RFC 8555, 7.3) and refuses every order.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { run } from '../../../tools/lib/command.ts';

export interface AcmeDirectory {
  readonly url: string;
  /** Its own certificate, in PEM. */
  readonly caFile: string;
  /** Payloads of the requests so far. */
  readonly payloads: readonly string[];
  close(): Promise<void>;
}

/** Makes a certificate for an address that is its own authority. */
export async function makeDirectoryCertificate(
  folder: string,
  address = '127.0.0.1',
): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = [join(folder, 'directory.pem'), join(folder, 'directory.key')];
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const fields = ['-subj', '/CN=directory', '-addext', `subjectAltName=IP:${address}`];
  const notAnAuthority = ['-addext', 'basicConstraints=critical,CA:FALSE'];
  const made = await run('openssl', [...form, ...fields, ...notAnAuthority, '-keyout', key, '-out', cert]);
  if (made.code !== 0) throw new Error(made.output);
  return { cert, key };
}

export async function startAcmeDirectory(folder: string): Promise<AcmeDirectory> {
  const { cert, key } = await makeDirectoryCertificate(folder);
  const payloads: string[] = [];
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    respond(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { port } = server.address() as AddressInfo;
    const at = (path: string) => `https://127.0.0.1:${port}/${path}`;
    response.setHeader('replay-nonce', 'nonce');
    response.setHeader('content-type', 'application/json');
    if (request.url === '/directory') {
      const directory = { newNonce: at('nonce'), newAccount: at('account'), newOrder: at('order') };
      return void response.end(JSON.stringify({ ...directory, revokeCert: at('revoke'), keyChange: at('key') }));
    }
    if (request.url === '/nonce') return void response.end();
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { payload } = JSON.parse(body) as { payload: string };
    payloads.push(Buffer.from(payload, 'base64url').toString('utf8'));
    if (request.url === '/order') {
      response.statusCode = 403;
      const problem = { type: 'urn:ietf:params:acme:error:rejectedIdentifier', detail: 'not this name' };
      return void response.end(JSON.stringify(problem));
    }
    response.setHeader('location', at('account/1'));
    response.end(JSON.stringify({ status: 'valid' }));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/directory`,
    caFile: cert,
    payloads,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
