// Owns the way of secrets to a server: decrypted here, filled in, and sealed to that server's own key at once. Plain values
// live for the length of one call and go nowhere else.
import { create, toBinary } from '@bufbuild/protobuf';
import { SecretBundleSchema, SecretDelivery } from '@fairlead/contract/agent';
import { Encrypter } from 'age-encryption';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from './data-key.ts';
import { findEntry } from './resolve.ts';
import { fillIn } from './rules.ts';
import { type BuildPlace, sealCredentials } from './seal-credentials.ts';
import { type EntryRow, loadValues } from './store.ts';

export interface SealedSnapshot {
  /** An age file. */
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly version: string;
}

export interface SealTarget {
  readonly serverId: string;
  readonly recipient: string | null;
}

export interface SecretSealer {
  /** Sealed snapshots by id. Throws secret.undecryptable or secret.server_cannot_open; the state is not rendered then. */
  seal(ctx: OrganizationCtx, target: SealTarget, snapshotIds: readonly string[]): Promise<Map<string, SealedSnapshot>>;
  /** What opens the sources of builds, by app. Nothing is kept: builds are short. */
  sealCredentials(
    ctx: OrganizationCtx,
    target: SealTarget,
    places: readonly BuildPlace[],
  ): Promise<Map<string, SealedSnapshot>>;
  /** Forgets what was sealed to a server. */
  forget(serverId: string): void;
}

/** Seals each snapshot once for a server: sealing is random, and bytes that stay the same need not be applied again. */
export function createSecretSealer(keys: SecretKeys): SecretSealer {
  const cache = new Map<string, { readonly recipient: string; readonly snapshots: Map<string, SealedSnapshot> }>();
  return {
    seal: async (ctx, { serverId, recipient }, snapshotIds) => {
      if (snapshotIds.length === 0) return new Map();
      if (recipient === null) throw new AppError('secret.server_cannot_open', { serverId });
      const known = cache.get(serverId);
      const kept = known?.recipient === recipient ? known.snapshots : new Map<string, SealedSnapshot>();
      const missing = snapshotIds.filter((id) => !kept.has(id));
      const fresh = await sealSnapshots(ctx, keys, recipient, missing);
      // Only what was asked for stays: older releases of this server are gone from its state.
      const sealed = new Map([...kept, ...fresh].filter(([id]) => snapshotIds.includes(id)));
      cache.set(serverId, { recipient, snapshots: sealed });
      return sealed;
    },
    sealCredentials: (ctx, { recipient }, places) =>
      recipient === null ? Promise.resolve(new Map()) : sealCredentials(ctx, keys, recipient, places),
    forget: (serverId) => {
      cache.delete(serverId);
    },
  };
}

async function sealSnapshots(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  recipient: string,
  snapshotIds: readonly string[],
): Promise<Map<string, SealedSnapshot>> {
  const sealed = new Map<string, SealedSnapshot>();
  if (snapshotIds.length === 0) return sealed;
  const snapshots = await ctx.tx.secretSnapshot.findMany({
    where: { id: { in: [...snapshotIds] }, organizationId: ctx.organizationId },
    select: {
      id: true,
      appId: true,
      environmentId: true,
      entries: {
        select: { versionId: true, scope: true, name: true, exported: true, version: { select: { delivery: true } } },
        orderBy: [{ scope: 'asc' }, { name: 'asc' }],
      },
    },
  });
  const versionIds = new Set(snapshots.flatMap(({ entries }) => entries.map(({ versionId }) => versionId)));
  const stored = await loadValues(ctx, [...versionIds]);
  const texts = new Map<string, string>();
  for (const versionId of versionIds) {
    const value = stored.get(versionId);
    if (value === undefined) throw new AppError('secret.undecryptable', { versionId });
    texts.set(versionId, (await keys.open(ctx.organizationId, value)).toString('utf8'));
  }
  for (const { id, appId, environmentId, entries } of snapshots) {
    const filled = fillInAll(entries, texts);
    const bundle = create(SecretBundleSchema, {
      appId,
      environmentId,
      version: id,
      secrets: entries.flatMap(({ versionId, name, exported, version }) =>
        exported
          ? [
              {
                name,
                value: Buffer.from(filled.get(versionId) ?? '', 'utf8'),
                delivery: wireDelivery(version.delivery),
              },
            ]
          : [],
      ),
    });
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    sealed.set(id, {
      sealed: new Uint8Array(await encrypter.encrypt(toBinary(SecretBundleSchema, bundle))),
      version: id,
    });
  }
  for (const id of snapshotIds) if (!sealed.has(id)) throw new AppError('secret.undecryptable', { snapshotId: id });
  return sealed;
}

/** Values by version. Circles and missing names were refused when the snapshot was made. */
function fillInAll(entries: readonly EntryRow[], texts: ReadonlyMap<string, string>): Map<string, string> {
  const filled = new Map<string, string>();
  const textOf = (entry: EntryRow): string => {
    const known = filled.get(entry.versionId);
    if (known !== undefined) return known;
    const value = fillIn(texts.get(entry.versionId) ?? '', (reference) => {
      const target = findEntry(entries, reference, entry.scope);
      if (target === undefined) throw new AppError('secret.unresolved', { name: entry.name, reference });
      return textOf(target);
    });
    filled.set(entry.versionId, value);
    return value;
  };
  for (const entry of entries) textOf(entry);
  return filled;
}

function wireDelivery(delivery: string): SecretDelivery {
  return delivery === 'file' ? SecretDelivery.FILE : SecretDelivery.ENVIRONMENT;
}
