// Signatures of the link: Ed25519 (RFC 8032) over a label for the purpose, then the exact bytes. The label keeps a
// signature for one purpose from use for another. Node only; keys never leave the caller.
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

// RFC 8410, section 7: the fixed DER head of an Ed25519 private and public key; the 32 raw bytes follow.
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHead = Buffer.from('302a300506032b6570032100', 'hex');
export const keyBytes = 32;

const utf8 = new TextEncoder();

/** Message that an agent signs to enrol: proves that it holds the key it presents. */
export function enrolMessage(token: string, publicKey: Uint8Array): Uint8Array {
  return Buffer.concat([utf8.encode(`fairlead-enrol-v1\n${token}\n`), publicKey]);
}

/** Message that an agent signs on every connect: the nonce is fresh, so an old proof is worthless. */
export function helloMessage(serverId: string, nonce: Uint8Array): Uint8Array {
  return Buffer.concat([utf8.encode(`fairlead-hello-v1\n${serverId}\n`), nonce]);
}

/** Message that an agent signs to authenticate the key that its secrets are sealed to. */
export function sealingMessage(recipient: string): Uint8Array {
  return utf8.encode(`fairlead-sealing-v1\n${recipient}`);
}

/** Message that the control plane signs: the exact bytes of an encoded DesiredState. */
export function stateMessage(state: Uint8Array): Uint8Array {
  return Buffer.concat([utf8.encode('fairlead-state-v1\n'), state]);
}

/** A private key from its 32-byte seed. */
export function privateKeyFromSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' });
}

/** The raw 32 bytes of the public half. */
export function publicKeyBytes(privateKey: KeyObject): Uint8Array<ArrayBuffer> {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return new Uint8Array(der.subarray(publicHead.length));
}

export function signMessage(privateKey: KeyObject, message: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(sign(null, message, privateKey));
}

/** True if the signature was made with that key. A malformed key or signature gives false: peers send them. */
export function verifyMessage(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== keyBytes || signature.length !== 64) return false;
  const key = createPublicKey({ key: Buffer.concat([publicHead, publicKey]), format: 'der', type: 'spki' });
  return verify(null, message, key, signature);
}
