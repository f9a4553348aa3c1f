// Seals private keys of certificates for the servers that use them. Each key is sealed once for a server: sealing is
// random, and bytes that stay the same need not be applied again.
import { Encrypter } from 'age-encryption';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from './data-key.ts';
import type { KeyToSeal, SealTarget } from './secret-sealer.ts';

type SealedKeys = Map<string, Uint8Array<ArrayBuffer>>;

export interface KeySealer {
  seal(ctx: OrganizationCtx, target: SealTarget, wanted: readonly KeyToSeal[]): Promise<SealedKeys>;
  forget(serverId: string): void;
}

export function createKeySealer(keys: SecretKeys): KeySealer {
  const cache = new Map<string, { readonly recipient: string; readonly sealed: SealedKeys }>();
  return {
    seal: async (ctx, { serverId, recipient }, wanted) => {
      if (recipient === null || wanted.length === 0) return new Map();
      const known = cache.get(serverId);
      const sealed: SealedKeys = new Map();
      const missing: KeyToSeal[] = [];
      for (const key of wanted) {
        const before = known?.recipient === recipient ? known.sealed.get(key.keyId) : undefined;
        if (before === undefined) missing.push(key);
        else sealed.set(key.keyId, before);
      }
      const rows = await ctx.tx.certificateKey.findMany({
        where: { id: { in: missing.map(({ keyId }) => keyId) }, organizationId: ctx.organizationId },
        include: { dataKey: true },
      });
      for (const { id, envelope, dataKey } of rows) {
        const wrap = missing.find(({ keyId }) => keyId === id)?.wrap;
        const plain = await open(ctx, keys, { versionId: id, envelope, dataKey });
        if (wrap === undefined || plain === null) continue;
        const encrypter = new Encrypter();
        encrypter.addRecipient(recipient);
        sealed.set(id, new Uint8Array(await encrypter.encrypt(wrap(plain))));
      }
      cache.set(serverId, { recipient, sealed });
      return sealed;
    },
    forget: (serverId) => {
      cache.delete(serverId);
    },
  };
}

async function open(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  value: Parameters<SecretKeys['open']>[1],
): Promise<Buffer | null> {
  try {
    return await keys.open(ctx.organizationId, value);
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'secret.undecryptable')) throw error;
    ctx.log.error(
      { err: error, keyId: value.versionId },
      'a certificate key does not open; its hosts have no certificate',
    );
    return null;
  }
}
