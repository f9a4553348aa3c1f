// Data keys: an organization's key encrypts its secrets, and the master key wraps it. Plain keys exist in this
// process's memory only.
import { randomBytes } from 'node:crypto';
import { newId } from '@fairlead/contract/ids';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { type EnvelopeKey, keyBytes, openEnvelope, type Place, sealEnvelope } from './envelope.ts';
import type { KeyWrapper } from './master-key.ts';

export interface WrappedDataKey {
  readonly id: string;
  readonly wrapped: Uint8Array<ArrayBuffer>;
  readonly masterKeyId: string;
}

/** An encrypted value with the key it needs, read in one statement: a rotation may replace both at any time. */
export interface StoredValue {
  readonly versionId: string;
  readonly envelope: Uint8Array<ArrayBuffer>;
  readonly dataKey: WrappedDataKey;
}

export interface ActiveKey {
  readonly dataKeyId: string;
  /** The envelope of a version's value. */
  seal(versionId: string, plain: Uint8Array): Uint8Array<ArrayBuffer>;
}

export interface SecretKeys {
  readonly wrapper: KeyWrapper;
  /** The organization's key in use, which is made at its first secret; held until the transaction ends. */
  active(ctx: OrganizationCtx): Promise<ActiveKey>;
  /** Throws secret.undecryptable. */
  open(organizationId: string, value: StoredValue): Promise<Buffer>;
}

const cachedMax = 1000;

export function createSecretKeys(wrapper: KeyWrapper): SecretKeys {
  const cache = new Map<string, EnvelopeKey>();

  async function unwrap(organizationId: string, row: WrappedDataKey): Promise<EnvelopeKey> {
    const known = cache.get(row.id);
    if (known !== undefined) return known;
    const place = wrappedPlace(organizationId, row.id);
    const bytes = await wrapper.unwrap(place, { keyId: row.masterKeyId, wrapped: row.wrapped });
    const [oldest] = cache.keys();
    if (cache.size >= cachedMax && oldest !== undefined) cache.delete(oldest);
    const key = { id: row.id, bytes };
    cache.set(row.id, key);
    return key;
  }

  return {
    wrapper,
    active: async (ctx) => {
      const { organizationId } = ctx;
      const row = (await findActive(ctx)) ?? (await makeActive(ctx, wrapper));
      const key = await unwrap(organizationId, row);
      return {
        dataKeyId: row.id,
        seal: (versionId, plain) => sealEnvelope(key, valuePlace(organizationId, versionId), plain),
      };
    },
    open: async (organizationId, { versionId, envelope, dataKey }) => {
      const key = await unwrap(organizationId, dataKey);
      return openEnvelope(key, valuePlace(organizationId, versionId), envelope);
    },
  };
}

export function wrappedPlace(organizationId: string, row: string): Place {
  return { organizationId, table: 'data_key', row, column: 'wrapped' };
}

function valuePlace(organizationId: string, row: string): Place {
  return { organizationId, table: 'secret_version', row, column: 'envelope' };
}

/** FOR SHARE: a key is retired only once everything encrypted with it is committed, so that a rotation misses nothing. */
async function findActive(ctx: OrganizationCtx): Promise<WrappedDataKey | null> {
  const [row] = await ctx.tx.$queryRaw<WrappedDataKey[]>`
    SELECT id, wrapped, master_key_id AS "masterKeyId" FROM data_key
    WHERE organization_id = ${ctx.organizationId} AND retired_at IS NULL FOR SHARE`;
  return row ?? null;
}

export async function makeActive(ctx: OrganizationCtx, wrapper: KeyWrapper): Promise<WrappedDataKey> {
  const id = newId('dek');
  const { keyId, wrapped } = await wrapper.wrap(wrappedPlace(ctx.organizationId, id), randomBytes(keyBytes));
  // If two first secrets are written at once, one makes the key and the other waits for it here.
  await ctx.tx.$executeRaw`
    INSERT INTO data_key (id, organization_id, wrapped, master_key_id, created_at)
    VALUES (${id}, ${ctx.organizationId}, ${wrapped}, ${keyId}, ${ctx.clock.now()})
    ON CONFLICT (organization_id) WHERE retired_at IS NULL DO NOTHING`;
  const row = await findActive(ctx);
  if (row === null) throw new AppError('internal.unexpected', { organizationId: ctx.organizationId });
  return row;
}
