// Signs the files of a release with minisign (https://jedisct1.github.io/minisign/). Invariant: never prints the secret
// key, and never writes it but as the key of a development release.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLER } from './installer.ts';
import { fileNames, ReleaseFailed, TARGETS } from './targets.ts';

export interface Signer {
  readonly secretKeyFile: string;
  readonly publicKeyFile: string;
  /** True without a release key: the key pair was made for this folder. */
  readonly isDevelopment: boolean;
}

const PUBLIC_KEY = 'minisign.pub';
const CHECKSUMS = 'SHA256SUMS';

export function openSigner(to: string): Signer {
  const given = process.env.FAIRLEAD_RELEASE_KEY_FILE || undefined;
  const publicKeyFile = join(to, PUBLIC_KEY);
  const secretKeyFile = given ?? join(to, 'development.key');
  if (given === undefined && existsSync(secretKeyFile) && existsSync(publicKeyFile)) {
    return { secretKeyFile, publicKeyFile, isDevelopment: true };
  }
  // -R writes the public key of a secret one; -W makes a pair without a password.
  const verb = given === undefined ? ['-G', '-W', '-f'] : ['-R', '-f'];
  minisign([...verb, '-p', publicKeyFile, '-s', secretKeyFile]);
  return { secretKeyFile, publicKeyFile, isDevelopment: given === undefined };
}

/** Reads the key itself, without the comment in its file. */
function readPublicKey({ publicKeyFile }: Signer): string {
  return readFileSync(publicKeyFile, 'utf8').split('\n')[1]?.trim() ?? '';
}

/**
 * Keys that agents and installers of the release trust: the one that signs it, and the next one while it is replaced. Both
 * sides then accept releases of either.
 */
export function pinnedKeys(signer: Signer): readonly string[] {
  const next = process.env.FAIRLEAD_NEXT_RELEASE_KEY || undefined;
  const keys = next === undefined ? [readPublicKey(signer)] : [readPublicKey(signer), next];
  if (!keys.every(isPublicKey))
    throw new ReleaseFailed('the public key of the release, or FAIRLEAD_NEXT_RELEASE_KEY, is not one of minisign');
  return keys;
}

/** True for the text of a public key as minisign writes it. */
function isPublicKey(text: string): boolean {
  return /^RW[A-Za-z0-9+/]{54}$/.test(text);
}

/** Writes `<file>.minisig`. The signature covers the comment, so a file can't stand in for another one. */
export function signFile(signer: Signer, file: string, comment: string): void {
  minisign(['-S', '-s', signer.secretKeyFile, '-m', file, '-t', comment]);
  minisign(['-V', '-q', '-p', signer.publicKeyFile, '-m', file]);
}

/** Writes the checksums of all files of this version in the folder and signs them. Returns the names of all files. */
export function signRelease(to: string, version: string, signer: Signer): string[] {
  const files = TARGETS.flatMap((target) => [
    fileNames.agent(version, target),
    `${fileNames.agent(version, target)}.minisig`,
    fileNames.controlPlane(version, target),
  ]);
  files.push(fileNames.sbom(version), fileNames.licences(version), fileNames.notes(version), INSTALLER);
  const present = files.filter((name) => existsSync(join(to, name)));
  const digests = present.map((name) => [name, sha256(join(to, name))] as const);
  writeFileSync(join(to, CHECKSUMS), formatChecksums(digests));
  signFile(signer, join(to, CHECKSUMS), `fairlead ${version} ${CHECKSUMS}`);
  return [...present, CHECKSUMS, `${CHECKSUMS}.minisig`, PUBLIC_KEY];
}

/** Formats digests as `sha256sum --check` reads them. */
export function formatChecksums(digests: readonly (readonly [name: string, digest: string])[]): string {
  return digests.map(([name, digest]) => `${digest}  ${name}\n`).join('');
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Uses the terminal: minisign asks there for the password of a key, and says there what is wrong. */
function minisign(args: readonly string[]): void {
  const { error, status } = spawnSync('minisign', args, { stdio: ['inherit', 'ignore', 'inherit'] });
  if (error !== undefined) throw new ReleaseFailed('minisign is missing: install it with apt-get install minisign');
  if (status !== 0) throw new ReleaseFailed(`minisign ${args[0]} failed; the line above says why`);
}
