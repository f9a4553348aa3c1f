// Private keys of certificates and of accounts at certificate authorities: ECDSA on P-256, stored like secrets.
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { newId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';

export interface StoredKey {
  readonly id: string;
  readonly publicKey: KeyObject;
}

/** Makes a key and stores it encrypted. */
export function createKey(ctx: OrganizationCtx, keys: SecretKeys): Promise<StoredKey> {
  return storeKey(ctx, keys, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Stores a private key encrypted. */
export async function storeKey(ctx: OrganizationCtx, keys: SecretKeys, privateKey: KeyObject): Promise<StoredKey> {
  const { organizationId } = ctx;
  const publicKey = createPublicKey(privateKey);
  const id = newId('cky');
  const active = await keys.active(ctx);
  await ctx.tx.certificateKey.create({
    data: {
      id,
      organizationId,
      dataKeyId: active.dataKeyId,
      envelope: active.seal(id, privateKey.export({ type: 'pkcs8', format: 'der' })),
      publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' })),
      createdAt: ctx.clock.now(),
    },
  });
  return { id, publicKey };
}

/** Returns the thumbprint of a public key on P-256 (RFC 7638). */
export function thumbprintOf(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  // Members in lexical order, without spaces.
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/** Reads a stored public key. */
export function readPublicKey(der: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.from(der), type: 'spki', format: 'der' });
}
