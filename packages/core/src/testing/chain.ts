// Makes certificates with openssl for tests: a leaf below an intermediate and a root.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestChain {
  readonly leafPem: string;
  readonly intermediatePem: string;
  readonly rootPem: string;
  readonly keyPem: string;
}

export interface TestChainOptions {
  readonly names: readonly string[];
  /** Arguments of `openssl genpkey`. Default: P-256. */
  readonly key?: readonly string[];
  /** Validity of the leaf, from the real time on. The others are valid for ten years. */
  readonly days?: number;
  /** Further extensions of the leaf. */
  readonly extensions?: readonly string[];
}

const p256 = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];

export function makeChain({ names, key = p256, days = 90, extensions = [] }: TestChainOptions): TestChain {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-chain-'));
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder });
  try {
    const sign = (name: string, issuer: string | null, args: readonly string[]) =>
      openssl(
        ...['req', '-x509', '-key', `${name}.key`, '-subj', `/O=Test/CN=${name}`, '-out', `${name}.pem`],
        ...(issuer === null ? [] : ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`]),
        ...args,
      );
    for (const name of ['root', 'intermediate']) openssl('genpkey', ...p256, '-out', `${name}.key`);
    openssl('genpkey', ...key, '-out', 'leaf.key');
    sign('root', null, ['-days', '3650']);
    sign('intermediate', 'root', ['-days', '3650']);
    const subjects = names.length === 0 ? [] : [`subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`];
    const added = ['basicConstraints=critical,CA:FALSE', ...subjects, ...extensions];
    sign('leaf', 'intermediate', ['-days', `${days}`, ...added.flatMap((extension) => ['-addext', extension])]);
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    return {
      leafPem: read('leaf.pem'),
      intermediatePem: read('intermediate.pem'),
      rootPem: read('root.pem'),
      keyPem: read('leaf.key'),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
