// Debian's nginx as an ordinary HTTPS reverse proxy before a control plane: a private certificate authority, HTTP/2 in
// front, HTTP/1.1 behind, the usual upgrade headers and no tuning for Fairlead.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../tools/lib/command.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { requestPinned } from '../../../tools/lib/pinned-request.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import type { Front } from './assemble.ts';

const NGINX = '/usr/sbin/nginx';

export interface NginxOptions {
  /** Listen address. Default: loopback. */
  readonly address?: string;
  /** Serves this machine's repositories as well, by plain HTTP. */
  readonly source?: { readonly port: number; readonly upstreamPort: number };
  /** Rate limit of artifact downloads in bytes per second, so that a test can interrupt a transfer. */
  readonly artifactRate?: number;
}

export async function startNginx(gatewayUrl: string, parent: string, options: NginxOptions = {}): Promise<Front> {
  const { address = '127.0.0.1' } = options;
  const host = options.address ?? 'localhost';
  const folder = join(parent, 'nginx');
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const caFile = await makeCertificates(folder, address);
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, configure(folder, port, gatewayUrl, { ...options, address }));
  const child = spawn(NGINX, ['-p', folder, '-c', config, '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const isUp = () =>
    requestPinned({ host: 'localhost', address, port, path: '/healthz', caFile }).then(
      ({ status }) => status === 200,
      () => false,
    );
  await waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${errors.join('')}`);
      return isUp();
    },
    { what: 'nginx', timeoutMs: 10_000 },
  );
  return { url: `https://${host}:${port}`, caFile, close: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = once(child, 'exit');
  child.kill('SIGQUIT');
  await closed;
}

function configure(
  folder: string,
  port: number,
  gatewayUrl: string,
  { address, source, artifactRate }: NginxOptions & { readonly address: string },
): string {
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${folder}/${kind};`,
  );
  return `${user}
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log info;
events { worker_connections 256; }
http {
  access_log off;
${temporary.join('\n')}
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  server {
    listen ${address}:${port} ssl http2;
    server_name _;
    ssl_certificate ${folder}/leaf.pem;
    ssl_certificate_key ${folder}/leaf.key;
${artifactRate === undefined ? '' : slowArtifacts(gatewayUrl, artifactRate)}    location / {
      proxy_pass ${gatewayUrl};
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_read_timeout 60s;
    }
  }
${source === undefined ? '' : sourceServer(address, source)}}
`;
}

/** Disables buffering: a break behind the proxy is a break in front of it. */
function slowArtifacts(gatewayUrl: string, bytesPerSecond: number): string {
  return `    location /agent/artifacts/ {
      proxy_pass ${gatewayUrl};
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      client_max_body_size 0;
      proxy_request_buffering off;
      proxy_buffering off;
      limit_rate ${bytesPerSecond};
    }
`;
}

/** The repository server answers only to its own name. */
function sourceServer(address: string, { port, upstreamPort }: NonNullable<NginxOptions['source']>): string {
  return `  server {
    listen ${address}:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstreamPort};
      proxy_set_header Host 127.0.0.1:${upstreamPort};
    }
  }
`;
}

/** Creates an authority and a certificate for `localhost` and the address; returns the authority's file. */
async function makeCertificates(folder: string, address: string): Promise<string> {
  const file = (name: string) => join(folder, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl([
    'req',
    '-x509',
    ...key,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem'),
    '-days',
    '2',
    '-subj',
    '/CN=Test authority',
  ]);
  await openssl(['req', ...key, '-keyout', file('leaf.key'), '-out', file('leaf.csr'), '-subj', '/CN=localhost']);
  writeFileSync(
    file('leaf.ext'),
    `subjectAltName=DNS:localhost,IP:${address}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n`,
  );
  const authority = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2'];
  await openssl([
    'x509',
    '-req',
    '-in',
    file('leaf.csr'),
    ...authority,
    '-extfile',
    file('leaf.ext'),
    '-out',
    file('leaf.pem'),
  ]);
  return file('ca.pem');
}

async function openssl(args: readonly string[]): Promise<void> {
  const result = await run('openssl', args);
  if (result.code !== 0) throw new Error(`openssl ${args[0]}: ${result.output}`);
}
