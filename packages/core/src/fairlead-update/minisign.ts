// Verification of signatures in the format of minisign (https://jedisct1.github.io/minisign/). Pure.
import { createHash, createPublicKey, verify } from 'node:crypto';

/** DER of an Ed25519 public key without its 32 bytes (RFC 8410). */
const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const PUBLIC_KEY_BYTES = 42;
const SIGNATURE_BYTES = 74;
const COMMENT_SIGNATURE_BYTES = 64;
/** Algorithm and number of the key, before key or signature. */
const HEAD_BYTES = 10;

/** Returns the signed comment of a signature file, or null if none of the keys has signed `file` with it. */
export function verifyMinisign(file: Uint8Array, signatureFile: string, publicKeys: readonly string[]): string | null {
  const [, line = '', commentLine = '', commentSignatureLine = ''] = signatureFile.split('\n');
  const signature = Buffer.from(line, 'base64');
  const ofComment = Buffer.from(commentSignatureLine, 'base64');
  const comment = /^trusted comment: (.*)$/.exec(commentLine)?.[1];
  if (comment === undefined || signature.length !== SIGNATURE_BYTES || ofComment.length !== COMMENT_SIGNATURE_BYTES)
    return null;
  // ED: signature of the BLAKE2b-512 digest. Signatures of whole files (Ed) are never those of a release.
  if (signature.subarray(0, 2).toString('latin1') !== 'ED') return null;
  const signed = signature.subarray(HEAD_BYTES);
  const digest = createHash('blake2b512').update(file).digest();
  const isSignedBy = (text: string) => {
    const key = Buffer.from(text, 'base64');
    if (key.length !== PUBLIC_KEY_BYTES || !key.subarray(2, HEAD_BYTES).equals(signature.subarray(2, HEAD_BYTES)))
      return false;
    const der = Buffer.concat([ED25519_PREFIX, key.subarray(HEAD_BYTES)]);
    const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return (
      verify(null, digest, publicKey, signed) &&
      verify(null, Buffer.concat([signed, Buffer.from(comment)]), publicKey, ofComment)
    );
  };
  return publicKeys.some(isSignedBy) ? comment : null;
}
