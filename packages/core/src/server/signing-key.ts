// Public keys that verify signed desired states. Private keys are files that the database never sees.
import { AppError, type SystemCtx } from '../kernel/index.ts';

export interface SigningKeyRow {
  readonly keyId: string;
  /** Raw Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
}

/** Keys in use, oldest first. The oldest signs; agents pin all of them at enrolment. */
export async function listSigningKeys(ctx: SystemCtx): Promise<readonly SigningKeyRow[]> {
  const rows = await ctx.tx.signingKey.findMany({
    where: { retiredAt: null },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map((row) => ({ keyId: row.id, publicKey: row.publicKey }));
}

/** Writes a new key down. A key once written never changes. */
export async function registerSigningKey(ctx: SystemCtx, key: SigningKeyRow): Promise<void> {
  if (key.publicKey.length !== 32) throw new AppError('internal.unexpected', { keyId: key.keyId });
  await ctx.tx.signingKey.create({
    data: { id: key.keyId, publicKey: new Uint8Array(key.publicKey), createdAt: ctx.clock.now() },
  });
}
