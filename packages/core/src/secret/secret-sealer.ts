// Seals secrets for a server: decrypts them, substitutes references, and seals them to that server's key at once.
// Plain values live for the length of one call.
import { create, toBinary } from '@bufbuild/protobuf';
import { SecretBundleSchema, SecretDelivery } from '@fairlead/contract/agent';
import { Encrypter } from 'age-encryption';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys, StoredValue } from './data-key.ts';
import { findEntry } from './resolve.ts';
import { fillIn, serverSecretsBytesMax } from './rules.ts';
import type { SecretsProblem } from './schema.ts';
import { type BuildPlacement, sealCredentials } from './seal-credentials.ts';
import { createKeySealer } from './seal-keys.ts';
import { type EntryRow, loadValues } from './store.ts';

/** Sealing adds names, delivery and the age format; the agent takes 16 MiB in all. */
const sealedBytesMax = serverSecretsBytesMax + 2 * 1024 * 1024;
/** Maximum size of the secrets of all running builds on a server, in addition to the above. */
const sealedBuildBytesMax = 1.5 * 1024 * 1024;

export interface SealedSnapshot {
  /** An age file; with a problem, what no key opens, so that no new instance starts with it. */
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly version: string;
  readonly problem: SecretsProblem | null;
}

export interface SealTarget {
  readonly serverId: string;
  readonly recipient: string | null;
}

export interface SecretSealer {
  /**
   * Returns sealed snapshots by id. `snapshotIds` begin with the most important; each one that does not fit or open is
   * held back. Throws secret.server_cannot_open; the state is not rendered then.
   */
  seal(ctx: OrganizationCtx, target: SealTarget, snapshotIds: readonly string[]): Promise<Map<string, SealedSnapshot>>;
  /**
   * Seals the secrets that are marked for builds in these snapshots, keyed by id. Nothing is cached, and what does not
   * fit or open is held back.
   */
  sealForBuilds(
    ctx: OrganizationCtx,
    target: SealTarget,
    snapshotIds: readonly string[],
  ): Promise<Map<string, SealedSnapshot>>;
  /** Seals the source credentials of builds, keyed by app. Nothing is cached: builds are short. */
  sealCredentials(
    ctx: OrganizationCtx,
    target: SealTarget,
    placements: readonly BuildPlacement[],
  ): Promise<Map<string, SealedSnapshot>>;
  /** Seals private keys, keyed by id. One that does not open is missing. */
  sealKeys(
    ctx: OrganizationCtx,
    target: SealTarget,
    wanted: readonly KeyToSeal[],
  ): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>>;
  /** Forgets what was sealed to a server. */
  forget(serverId: string): void;
}

/** Private key of a certificate or an account, in the message that the agent opens. */
export interface KeyToSeal {
  readonly keyId: string;
  /** Returns the message around PKCS#8 in DER. */
  readonly wrap: (keyDer: Uint8Array) => Uint8Array;
}

interface CachedSnapshot {
  /** Environment in the sealed message. It changes when an app moves to another project. */
  readonly environmentId: string | undefined;
  readonly snapshot: SealedSnapshot;
}

/** Seals each snapshot once for a server: sealing is random, and bytes that stay the same need not be applied again. */
export function createSecretSealer(keys: SecretKeys): SecretSealer {
  const keySealer = createKeySealer(keys);
  const cache = new Map<string, { readonly recipient: string; readonly snapshots: Map<string, CachedSnapshot> }>();
  return {
    seal: async (ctx, { serverId, recipient }, snapshotIds) => {
      if (snapshotIds.length === 0) return new Map();
      if (recipient === null) throw new AppError('secret.server_cannot_open', { serverId });
      const known = cache.get(serverId);
      const environments = await findEnvironments(ctx, snapshotIds);
      const kept = new Map(
        [...(known?.recipient === recipient ? known.snapshots : [])].flatMap(([id, { environmentId, snapshot }]) =>
          environments.get(id) === environmentId ? [[id, snapshot] as const] : [],
        ),
      );
      const missing = snapshotIds.filter((id) => !kept.has(id));
      const fresh = await sealSnapshots(ctx, keys, recipient, missing, 'all');
      // Keeps only the requested snapshots: older releases of this server are gone from its state.
      const sealed = new Map([...kept, ...fresh].filter(([id]) => snapshotIds.includes(id)));
      // Failures are not cached, so that they are tried again each time: their key may be back.
      const good = [...sealed].filter(([, { problem }]) => problem === null);
      const snapshots = new Map(
        good.map(([id, snapshot]) => [id, { environmentId: environments.get(id), snapshot }] as const),
      );
      cache.set(serverId, { recipient, snapshots });
      return withinMessage(sealed, snapshotIds);
    },
    sealForBuilds: async (ctx, { serverId, recipient }, snapshotIds) => {
      if (snapshotIds.length === 0) return new Map();
      if (recipient === null) throw new AppError('secret.server_cannot_open', { serverId });
      const sealed = await sealSnapshots(ctx, keys, recipient, snapshotIds, 'at_build');
      return withinMessage(sealed, snapshotIds, sealedBuildBytesMax);
    },
    sealCredentials: (ctx, { recipient }, placements) =>
      recipient === null ? Promise.resolve(new Map()) : sealCredentials(ctx, keys, recipient, placements),
    sealKeys: (ctx, target, wanted) => keySealer.seal(ctx, target, wanted),
    forget: (serverId) => {
      keySealer.forget(serverId);
      cache.delete(serverId);
    },
  };
}

async function findEnvironments(ctx: OrganizationCtx, snapshotIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await ctx.tx.secretSnapshot.findMany({
    where: { id: { in: [...snapshotIds] }, organizationId: ctx.organizationId },
    select: { id: true, environmentId: true },
  });
  return new Map(rows.map(({ id, environmentId }) => [id, environmentId]));
}

/** Value that agents refuse to open, with any key; one byte, because an empty one would mean no secrets at all. */
function heldBack(version: string, problem: SecretsProblem): SealedSnapshot {
  return { sealed: new Uint8Array([0]), version, problem };
}

/** Holds back snapshots that do not fit the message; their space goes to those after them. */
export function withinMessage(
  sealed: ReadonlyMap<string, SealedSnapshot>,
  snapshotIds: readonly string[],
  bytesMax = sealedBytesMax,
): Map<string, SealedSnapshot> {
  let bytes = 0;
  const within = new Map<string, SealedSnapshot>();
  for (const id of snapshotIds) {
    const snapshot = sealed.get(id);
    if (snapshot === undefined) throw new AppError('secret.undecryptable', { snapshotId: id });
    const fits = bytes + snapshot.sealed.length <= bytesMax;
    within.set(id, fits ? snapshot : heldBack(id, 'no_room'));
    if (fits) bytes += snapshot.sealed.length;
  }
  return within;
}

async function sealSnapshots(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  recipient: string,
  snapshotIds: readonly string[],
  which: 'all' | 'at_build',
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
        select: {
          versionId: true,
          scope: true,
          name: true,
          exported: true,
          version: { select: { delivery: true, atBuild: true } },
        },
        orderBy: [{ scope: 'asc' }, { name: 'asc' }],
      },
    },
  });
  const versionIds = new Set(snapshots.flatMap(({ entries }) => entries.map(({ versionId }) => versionId)));
  const stored = await loadValues(ctx, [...versionIds]);
  const texts = new Map<string, string>();
  for (const versionId of versionIds) {
    const text = await findText(ctx, keys, stored.get(versionId), versionId);
    if (text !== null) texts.set(versionId, text);
  }
  for (const { id, appId, environmentId, entries } of snapshots) {
    if (entries.some(({ versionId }) => !texts.has(versionId))) {
      sealed.set(id, heldBack(id, 'undecryptable'));
      continue;
    }
    const filled = fillInAll(entries, texts);
    const bundle = create(SecretBundleSchema, {
      appId,
      environmentId,
      version: id,
      secrets: entries.flatMap(({ versionId, name, exported, version }) =>
        exported && (which === 'all' || version.atBuild)
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
      problem: null,
    });
  }
  return sealed;
}

/** Null for what does not open: that is its app's misfortune, not its neighbours'. */
async function findText(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  value: StoredValue | undefined,
  versionId: string,
): Promise<string | null> {
  try {
    if (value === undefined) throw new AppError('secret.undecryptable', { versionId });
    return (await keys.open(ctx.organizationId, value)).toString('utf8');
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'secret.undecryptable')) throw error;
    ctx.log.error({ err: error, versionId }, 'a secret does not open; its app is held back');
    return null;
  }
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
