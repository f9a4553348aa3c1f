// Checks the licence and the source of every npm and cargo dependency, from the lock files and package metadata.
// Rejects packages from outside the public registries.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from '../lib/command.ts';

/** Permissive licences, weak copyleft limited to the file (MPL), and CC0 and CC-BY for texts and data. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BSL-1.0',
  'CC-BY-4.0',
  'CC0-1.0',
  'CDLA-Permissive-2.0',
  'ISC',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'OFL-1.1',
  'OpenSSL',
  'PostgreSQL',
  'Python-2.0',
  'Unicode-3.0',
  'Unicode-DFS-2016',
  'Unlicense',
  'WTFPL',
  'Zlib',
]);

/**
 * Exceptions that a person has reviewed. `licence` must equal the package's own declaration, so that a change is
 * reviewed again.
 */
const READ_BY_A_PERSON: readonly { readonly packages: RegExp; readonly licence: RegExp; readonly why: string }[] = [
  { packages: /^geist$/, licence: /^SIL OPEN FONT LICENSE$/, why: 'its LICENSE file is the OFL-1.1' },
  { packages: /^@visx\/vendor$/, licence: /^MIT and ISC$/, why: 'MIT AND ISC, in its own spelling' },
  {
    packages: /^@img\/sharp-/,
    licence: /LGPL-3\.0-or-later/,
    why: 'libvips: an optional shared library of Next that we neither link nor ship; the LGPL asks nothing of its users',
  },
  {
    packages: /^elkjs$/,
    licence: /^EPL-2\.0$/,
    why: "part of Prisma's development tool; never shipped, not imported by us",
  },
];

function isRead(name: string, licence: string): boolean {
  return READ_BY_A_PERSON.some((entry) => entry.packages.test(name) && entry.licence.test(licence));
}

const CARGO_REGISTRY = 'registry+https://github.com/rust-lang/crates.io-index';
const NPM_REGISTRY = /^https:\/\/registry\.npmjs\.org\//;

/** True if an SPDX expression offers at least one allowed choice. */
export function isAllowed(expression: string): boolean {
  // `A/B` is cargo's old notation for `A OR B`.
  const tokens = expression.replaceAll('/', ' OR ').match(/\(|\)|[^\s()]+/g) ?? [];
  let at = 0;
  const either = (): boolean => {
    let ok = both();
    while (tokens[at] === 'OR') {
      at++;
      ok = both() || ok;
    }
    return ok;
  };
  const both = (): boolean => {
    let ok = one();
    while (tokens[at] === 'AND') {
      at++;
      ok = one() && ok;
    }
    return ok;
  };
  const one = (): boolean => {
    if (tokens[at] === '(') {
      at++;
      const ok = either();
      at++;
      return ok;
    }
    const licence = tokens[at++] ?? '';
    if (tokens[at] === 'WITH') at += 2; // an exception only grants more rights
    return ALLOWED.has(licence.replace(/\+$/, ''));
  };
  return tokens.length > 0 && either() && at === tokens.length;
}

interface LockEntry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
}

export function checkNpm(root: string): string[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  const findings: string[] = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes('node_modules/') || entry.link) continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const label = `npm ${name}@${entry.version}`;
    if (entry.resolved !== undefined && !NPM_REGISTRY.test(entry.resolved)) {
      findings.push(`${label} comes from ${entry.resolved}, not from the registry`);
    }
    if (entry.integrity === undefined && !entry.inBundle)
      findings.push(`${label} has no integrity hash in package-lock.json`);
    if (entry.license === undefined) findings.push(`${label} declares no licence`);
    else if (!isAllowed(entry.license) && !isRead(name, entry.license)) {
      findings.push(`${label} has the licence ${entry.license}, which is not on the list`);
    }
  }
  return findings;
}

interface CargoPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string | null;
  readonly source: string | null;
}

export async function checkCargo(root: string): Promise<string[]> {
  const args = ['metadata', '--locked', '--format-version', '1', '--manifest-path', join(root, 'agents/Cargo.toml')];
  const result = await run('cargo', args);
  if (result.code !== 0) return [`cargo metadata failed: ${result.output.trim()}`];
  const { packages } = JSON.parse(result.stdout) as { packages: CargoPackage[] };
  return packages.flatMap(({ name, version, license, source }) => {
    const label = `cargo ${name}@${version}`;
    if (source === null) return name.startsWith('fairlead-') ? [] : [`${label} comes from a folder`];
    const findings = source === CARGO_REGISTRY ? [] : [`${label} comes from ${source}, not from crates.io`];
    if (license === null) findings.push(`${label} declares no licence`);
    else if (!isAllowed(license)) findings.push(`${label} has the licence ${license}, which is not on the list`);
    return findings;
  });
}

if (import.meta.main) {
  const findings = [...checkNpm(ROOT), ...(await checkCargo(ROOT))];
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exit(1);
}
