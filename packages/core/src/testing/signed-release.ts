// Releases of a feed, signed by a key pair of the test in the format of minisign.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { ReadFeedFile } from '../fairlead-update/index.ts';

export interface SignedRelease {
  readonly publicKey: string;
  /** Files by name, which a test may change. */
  readonly files: Map<string, string>;
  readonly read: ReadFeedFile;
}

export interface SignedReleaseOptions {
  readonly version: string;
  /** Signed comment of the list of checksums. */
  readonly comment?: string;
}

/** Makes a key pair, and returns a function that makes releases of it. */
export function releaseSigner(): (options: SignedReleaseOptions) => SignedRelease {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keyNumber = randomBytes(8);
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return ({ version, comment = `fairlead ${version} SHA256SUMS` }) => {
    const changelog = '### Added\n\n- A button.';
    const notes = JSON.stringify({ version, releasedAt: '2026-11-26T12:00:00.000Z', changelog });
    const digest = createHash('sha256').update(notes).digest('hex');
    const checksums = `${'0'.repeat(64)}  install.sh\n${digest}  fairlead-${version}.json\n`;
    const signature = sign(null, createHash('blake2b512').update(checksums).digest(), privateKey);
    const ofComment = sign(null, Buffer.concat([signature, Buffer.from(comment)]), privateKey);
    const line = Buffer.concat([Buffer.from('ED'), keyNumber, signature]).toString('base64');
    const minisig = `untrusted comment: test\n${line}\ntrusted comment: ${comment}\n${ofComment.toString('base64')}\n`;
    const files = new Map([
      [`fairlead-${version}.json`, notes],
      ['SHA256SUMS', checksums],
      ['SHA256SUMS.minisig', minisig],
    ]);
    return {
      publicKey: Buffer.concat([Buffer.from('Ed'), keyNumber, raw]).toString('base64'),
      files,
      read: async (name) => {
        const file = files.get(name);
        if (file === undefined) throw new Error(`There is no ${name}.`);
        return Buffer.from(file);
      },
    };
  };
}

/** Makes a release with a key pair of its own. */
export function signedRelease(options: SignedReleaseOptions): SignedRelease {
  return releaseSigner()(options);
}
