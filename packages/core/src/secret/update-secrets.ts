// Writes secrets: one or a whole pasted file, all or nothing. An unchanged value that is not sealed makes no new
// version.
// Invariant: it never reveals if a value equals the sealed one, because a writer could then guess it.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import type { SecretKeys } from './data-key.ts';
import { byteLength, referencesOf, secretsMax } from './rules.ts';
import {
  type Delivery,
  deliverySchema,
  type SecretItem,
  type UpdatedSecrets,
  type UpdateSecretsInput,
} from './schema.ts';
import { loadValues, lockShelf, requireValue, type Shelf } from './store.ts';

/** Throws input.invalid for a new name without a value, and for unsealing without one: what is sealed stays so. */
export async function updateSecrets(ctx: Ctx, input: UpdateSecretsInput, keys: SecretKeys): Promise<UpdatedSecrets> {
  const shelf = await lockShelf(ctx, input.owner);
  const known = new Map((await loadShelf(ctx, shelf)).map((row) => [row.name, row]));
  const living = [...known.values()].filter(({ deletedAt }) => deletedAt === null).length;
  const fresh = input.items.filter(({ name }) => (known.get(name)?.deletedAt ?? undefined) !== null);
  if (living + fresh.length > secretsMax) throw new AppError('secret.too_many', { most: secretsMax });

  const sameValues = await findSameValues(ctx, input.items, known, keys);
  const result: UpdatedSecrets = { added: [], changed: [], unchanged: [] };
  const changes: Change[] = [];
  for (const item of input.items) {
    const change = changeOf(item, known.get(item.name), sameValues.has(item.name));
    result[change?.kind ?? 'unchanged'].push(item.name);
    if (change !== null) changes.push(change);
  }
  if (changes.length === 0) return result;
  await writeSecrets(ctx, shelf, changes);
  await createVersions(ctx, await versionsOf(ctx, changes, keys), keys);
  await audit(ctx, shelf, changes, result);
  const id = shelf.appId ?? shelf.groupId;
  await notifyChange(ctx, { kind: 'app', id, ...(shelf.appId === null ? {} : { appId: shelf.appId }) });
  return result;
}

interface KnownRow {
  readonly id: string;
  readonly name: string;
  readonly number: number;
  readonly expiresAt: Date | null;
  readonly deletedAt: Date | null;
  readonly newest: number;
  readonly version: VersionColumns & { readonly id: string };
}

/** Attributes of a version besides its value. */
interface VersionColumns {
  readonly delivery: Delivery;
  readonly sealed: boolean;
  readonly atBuild: boolean;
}

async function loadShelf(ctx: Ctx, { appId, environmentId, groupId }: Shelf): Promise<KnownRow[]> {
  const rows = await ctx.tx.secret.findMany({
    where: { organizationId: ctx.organizationId, appId, environmentId, groupId },
    select: {
      id: true,
      name: true,
      number: true,
      expiresAt: true,
      deletedAt: true,
      versions: {
        select: { id: true, number: true, delivery: true, sealed: true, atBuild: true },
        orderBy: { number: 'desc' },
      },
    },
  });
  return rows.map(({ versions, ...row }) => {
    const version = versions.find(({ number }) => number === row.number);
    // A secret without the version it names cannot be: both are written in one transaction.
    if (version === undefined) throw new AppError('internal.unexpected', { secretId: row.id });
    return {
      ...row,
      newest: versions[0]?.number ?? row.number,
      version: {
        id: version.id,
        sealed: version.sealed,
        atBuild: version.atBuild,
        delivery: deliverySchema.parse(version.delivery),
      },
    };
  });
}

async function findSameValues(
  ctx: Ctx,
  items: readonly SecretItem[],
  known: ReadonlyMap<string, KnownRow>,
  keys: SecretKeys,
): Promise<ReadonlySet<string>> {
  const given = items.flatMap(({ name, value }) => {
    const row = known.get(name);
    return value === undefined || row === undefined || row.version.sealed
      ? []
      : [{ name, value, versionId: row.version.id }];
  });
  const stored =
    given.length === 0
      ? new Map()
      : await loadValues(
          ctx,
          given.map(({ versionId }) => versionId),
        );
  const same = new Set<string>();
  for (const { name, value, versionId } of given) {
    const envelope = stored.get(versionId);
    if (envelope === undefined) throw new AppError('secret.undecryptable', { versionId });
    if ((await keys.open(ctx.organizationId, envelope)).equals(Buffer.from(value, 'utf8'))) same.add(name);
  }
  return same;
}

interface Change extends VersionColumns {
  readonly kind: 'added' | 'changed';
  readonly name: string;
  readonly secretId: string;
  /** Existing secret, also if it is deleted. */
  readonly row: KnownRow | null;
  readonly number: number;
  readonly expiresAt: Date | null;
  readonly isSameExpiry: boolean;
  readonly isSameVersion: boolean;
  readonly value: string | undefined;
}

/** Null when everything is as it was. */
function changeOf(item: SecretItem, row: KnownRow | undefined, isSameValue: boolean): Change | null {
  const isNew = row === undefined || row.deletedAt !== null;
  const { name, value } = item;
  if (isNew && value === undefined)
    throw new AppError('input.invalid', { name, problem: 'A new secret needs a value.' });
  const sealed = item.sealed ?? (isNew ? true : row.version.sealed);
  const atBuild = item.atBuild ?? (isNew ? false : row.version.atBuild);
  const delivery = item.delivery ?? (isNew ? 'environment' : row.version.delivery);
  const expiresAt = item.expiresAt === undefined ? (isNew ? null : row.expiresAt) : item.expiresAt;
  if (!isNew && row.version.sealed && !sealed && value === undefined) throw new AppError('secret.sealed', { name });

  const isSameVersion =
    !isNew &&
    (value === undefined || isSameValue) &&
    sealed === row.version.sealed &&
    atBuild === row.version.atBuild &&
    delivery === row.version.delivery;
  const isSameExpiry = !isNew && expiresAt?.getTime() === row.expiresAt?.getTime();
  if (isSameVersion && isSameExpiry) return null;
  return {
    kind: isNew ? 'added' : 'changed',
    name,
    secretId: row?.id ?? newId('sec'),
    row: row ?? null,
    number: isSameVersion ? row.number : (row?.newest ?? 0) + 1,
    delivery,
    sealed,
    atBuild,
    expiresAt,
    isSameExpiry,
    isSameVersion,
    value,
  };
}

/** Two statements for any number of secrets: a pasted file has hundreds. */
async function writeSecrets(ctx: Ctx, shelf: Shelf, changes: readonly Change[]): Promise<void> {
  const { tx, organizationId } = ctx;
  const createdAt = ctx.clock.now();
  await tx.secret.createMany({
    data: changes.flatMap(({ row, secretId, name, number, expiresAt }) =>
      row === null ? [{ ...shelf, id: secretId, organizationId, name, number, expiresAt, createdAt }] : [],
    ),
  });
  const changed = changes.flatMap(({ row, secretId, number, expiresAt, isSameExpiry }) =>
    row === null ? [] : [{ id: secretId, number, expires_at: expiresAt, is_same_expiry: isSameExpiry }],
  );
  if (changed.length === 0) return;
  await tx.$executeRaw`
    UPDATE secret SET number = changed.number, expires_at = changed.expires_at, deleted_at = NULL,
      reminded_at = CASE WHEN changed.is_same_expiry THEN secret.reminded_at END
    FROM jsonb_to_recordset(${JSON.stringify(changed)}::jsonb)
      AS changed (id text, number int, expires_at timestamptz, is_same_expiry boolean)
    WHERE secret.organization_id = ${organizationId} AND secret.id = changed.id`;
}

async function versionsOf(ctx: Ctx, changes: readonly Change[], keys: SecretKeys): Promise<NewVersion[]> {
  const versions: NewVersion[] = [];
  for (const { secretId, number, delivery, sealed, atBuild, value, row, isSameVersion } of changes) {
    if (isSameVersion) continue;
    const text = value ?? (await currentText(ctx, row, keys));
    versions.push({ secretId, number, text, delivery, sealed, atBuild });
  }
  return versions;
}

async function currentText(ctx: Ctx, row: KnownRow | null, keys: SecretKeys): Promise<string> {
  const stored = await requireValue(ctx, row?.version.id ?? '');
  return (await keys.open(ctx.organizationId, stored)).toString('utf8');
}

/** One event for one secret, one for a whole file. */
async function audit(ctx: Ctx, shelf: Shelf, changes: readonly Change[], result: UpdatedSecrets): Promise<void> {
  const [change, ...more] = changes;
  if (change === undefined) return;
  if (more.length > 0) {
    await recordAudit(ctx, {
      action: 'secret.import',
      target: { kind: shelf.appId === null ? 'secret_group' : 'app', id: shelf.appId ?? shelf.groupId, label: '.env' },
      after: { added: result.added, changed: result.changed },
    });
    return;
  }
  const { row, secretId, name, kind } = change;
  await recordAudit(ctx, {
    action: kind === 'added' ? 'secret.create' : 'secret.update',
    target: { kind: 'secret', id: secretId, label: name },
    ...(row === null || kind === 'added' ? {} : { before: auditFields(shelf, row.number, row.version, row.expiresAt) }),
    after: auditFields(shelf, change.number, change, change.expiresAt),
  });
}

export interface NewVersion extends VersionColumns {
  readonly secretId: string;
  readonly number: number;
  readonly text: string;
}

export async function createVersions(ctx: Ctx, versions: readonly NewVersion[], keys: SecretKeys): Promise<void> {
  if (versions.length === 0) return;
  const { dataKeyId, seal } = await keys.active(ctx);
  await ctx.tx.secretVersion.createMany({
    data: versions.map(({ text, ...columns }) => {
      const id = newId('scv');
      return {
        ...columns,
        id,
        organizationId: ctx.organizationId,
        dataKeyId,
        envelope: seal(id, Buffer.from(text, 'utf8')),
        sizeBytes: byteLength(text),
        references: referencesOf(text),
        authorUserId: actorUserId(ctx.actor),
        createdAt: ctx.clock.now(),
      };
    }),
  });
}

/** Never the value, and nothing that follows from it. */
function auditFields(
  { appId, groupId }: { readonly appId: string | null; readonly groupId: string | null },
  version: number,
  { delivery, sealed, atBuild }: VersionColumns,
  expiresAt: Date | null,
) {
  const owner = appId === null ? { group: parseId('scg', groupId ?? '') } : { app: appId };
  return { ...owner, version, delivery, sealed, atBuild, expiresAt: expiresAt?.toISOString() ?? null };
}
