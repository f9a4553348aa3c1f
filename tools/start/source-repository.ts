// Serves git repositories read-only over HTTP on loopback with git's http-backend, as the source of the sample app.
// Accepts only the two requests of a clone or fetch; nothing can be pushed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

export interface SourceOptions {
  readonly port: number;
  /** Folder of bare repositories, each `<name>.git`. */
  readonly folder: string;
  /** Runs before a clone or fetch reads the repository, to update it. */
  readonly refresh?: (name: string) => Promise<void>;
}

export interface SourceServer {
  readonly port: number;
  url(name: string): string;
  close(): Promise<void>;
}

const ALLOWED = /^\/([a-z0-9][a-z0-9-]*)\.git\/(info\/refs|git-upload-pack)$/;
const HEADER_BYTES_MAX = 16 * 1024;

export async function serveSource(options: SourceOptions): Promise<SourceServer> {
  const server = createServer((request, response) => {
    handle(request, response, options).catch((error: Error) => {
      console.error(`source repository: ${error.message}`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: (name) => `http://127.0.0.1:${port}/${name}.git`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, options: SourceOptions): Promise<void> {
  // Only git requests this address; a browser sends the foreign host name that led it here (DNS rebinding).
  if (request.headers.host !== `127.0.0.1:${request.socket.localPort}`) {
    response.writeHead(421, { 'content-type': 'text/plain' }).end('Ask for 127.0.0.1.\n');
    return;
  }
  const url = new URL(request.url ?? '/', 'http://source');
  const [, name, service] = ALLOWED.exec(url.pathname) ?? [];
  const isFetch = service === 'git-upload-pack' || url.searchParams.get('service') === 'git-upload-pack';
  if (name === undefined || !isFetch || !existsSync(join(options.folder, `${name}.git`))) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such repository, or it is read-only.\n');
    return;
  }
  if (service === 'info/refs') await options.refresh?.(name);
  await runBackend(request, response, url, options.folder);
}

/** Runs one CGI exchange: request body in, headers and body out. */
async function runBackend(request: IncomingMessage, response: ServerResponse, url: URL, folder: string): Promise<void> {
  const header = (name: string) => request.headers[name]?.toString() ?? '';
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      // The folder is ours; otherwise git refuses repositories of another owner.
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_PROTOCOL: header('git-protocol'),
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: header('content-type'),
      CONTENT_LENGTH: header('content-length'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      REMOTE_ADDR: request.socket.remoteAddress ?? '',
    },
  });
  response.once('close', () => child.kill('SIGTERM'));
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  // A client that disconnects breaks this pipe; the response's own pipe reports it.
  pipeline(request, child.stdin).catch(() => child.stdin.destroy());

  let head = Buffer.alloc(0);
  let end = -1;
  const output = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  while (end === -1) {
    const { value, done } = await Promise.race([output.next(), failed]);
    if (done || head.length > HEADER_BYTES_MAX) throw new Error(`git http-backend gave no header: ${errors.join('')}`);
    head = Buffer.concat([head, value]);
    end = head.indexOf('\r\n\r\n');
  }
  const headers = new Headers();
  for (const line of head.subarray(0, end).toString('latin1').split('\r\n')) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200);
  headers.delete('status');
  response.writeHead(status, Object.fromEntries(headers));
  response.write(head.subarray(end + 4));
  for (let part = await output.next(); !part.done; part = await output.next()) response.write(part.value);
  response.end();
}
