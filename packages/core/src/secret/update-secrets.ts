// Owns writing secrets: one or a whole pasted file, all or nothing. A value that is the same makes no new version.
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
import { loadValues, lockShelf, type Shelf } from './store.ts';

/** Throws input.invalid for a new name without a value, and for unsealing without one: what is sealed stays so. */
export async function updateSecrets(ctx: Ctx, input: UpdateSecretsInput, keys: SecretKeys): Promise<UpdatedSecrets> {
  const shelf = await lockShelf(ctx, input.owner);
  const known = new Map((await loadShelf(ctx, shelf)).map((row) => [row.name, row]));
  const living = [...known.values()].filter(({ deletedAt }) => deletedAt === null).length;
  const fresh = input.items.filter(({ name }) => (known.get(name)?.deletedAt ?? undefined) !== null);
  if (living + fresh.length > secretsMax) throw new AppError('secret.too_many', { most: secretsMax });

  const sameValues = await findSameValues(ctx, input.items, known, keys);
  const result: UpdatedSecrets = { added: [], changed: [], unchanged: [] };
  for (const item of input.items) {
    const row = known.get(item.name);
    const kind = await write(ctx, shelf, item, row, sameValues.has(item.name), keys);
    result[kind].push(item.name);
  }
  if (result.added.length + result.changed.length > 0) {
    await notifyChange(
      ctx,
      shelf.appId === null ? { kind: 'app', id: shelf.groupId } : { kind: 'app', id: shelf.appId, appId: shelf.appId },
    );
  }
  return result;
}

interface KnownRow {
  readonly id: string;
  readonly name: string;
  readonly number: number;
  readonly expiresAt: Date | null;
  readonly deletedAt: Date | null;
  readonly newest: number;
  readonly version: { readonly id: string; readonly delivery: Delivery; readonly sealed: boolean };
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
      versions: { select: { id: true, number: true, delivery: true, sealed: true }, orderBy: { number: 'desc' } },
    },
  });
  return rows.map(({ versions, ...row }) => {
    const version = versions.find(({ number }) => number === row.number);
    // A secret without the version it names cannot be: both are written in one transaction.
    if (version === undefined) throw new AppError('internal.unexpected', { secretId: row.id });
    return {
      ...row,
      newest: versions[0]?.number ?? row.number,
      version: { id: version.id, sealed: version.sealed, delivery: deliverySchema.parse(version.delivery) },
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
    return value === undefined || row === undefined ? [] : [{ name, value, versionId: row.version.id }];
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

async function write(
  ctx: Ctx,
  shelf: Shelf,
  item: SecretItem,
  row: KnownRow | undefined,
  isSameValue: boolean,
  keys: SecretKeys,
): Promise<keyof UpdatedSecrets> {
  const isNew = row === undefined || row.deletedAt !== null;
  const { name, value } = item;
  if (isNew && value === undefined)
    throw new AppError('input.invalid', { name, problem: 'A new secret needs a value.' });
  const sealed = item.sealed ?? (isNew ? true : row.version.sealed);
  const delivery = item.delivery ?? (isNew ? 'environment' : row.version.delivery);
  const expiresAt = item.expiresAt === undefined ? (isNew ? null : row.expiresAt) : item.expiresAt;
  if (!isNew && row.version.sealed && !sealed && value === undefined) throw new AppError('secret.sealed', { name });

  const isSameVersion =
    !isNew &&
    (value === undefined || isSameValue) &&
    sealed === row.version.sealed &&
    delivery === row.version.delivery;
  const isSameExpiry = !isNew && expiresAt?.getTime() === row.expiresAt?.getTime();
  if (isSameVersion && isSameExpiry) return 'unchanged';

  const { tx, organizationId } = ctx;
  const secretId = row?.id ?? newId('sec');
  const number = isSameVersion ? row.number : (row?.newest ?? 0) + 1;
  if (row === undefined) {
    const createdAt = ctx.clock.now();
    await tx.secret.create({ data: { ...shelf, id: secretId, organizationId, name, number, expiresAt, createdAt } });
  } else {
    await tx.secret.update({
      where: { id: secretId },
      data: { number, deletedAt: null, expiresAt, ...(isSameExpiry ? {} : { remindedAt: null }) },
    });
  }
  if (!isSameVersion) {
    const text = value ?? (await currentText(ctx, row, keys));
    await createVersion(ctx, { secretId, number, text, delivery, sealed }, keys);
  }
  await recordAudit(ctx, {
    action: isNew ? 'secret.create' : 'secret.update',
    target: { kind: 'secret', id: secretId, label: name },
    ...(isNew ? {} : { before: auditFields(shelf, row.number, row.version, row.expiresAt) }),
    after: auditFields(shelf, number, { delivery, sealed }, expiresAt),
  });
  return isNew ? 'added' : 'changed';
}

async function currentText(ctx: Ctx, row: KnownRow | undefined, keys: SecretKeys): Promise<string> {
  const versionId = row?.version.id ?? '';
  const stored = (await loadValues(ctx, [versionId])).get(versionId);
  if (stored === undefined) throw new AppError('secret.undecryptable', { versionId });
  return (await keys.open(ctx.organizationId, stored)).toString('utf8');
}

export interface NewVersion {
  readonly secretId: string;
  readonly number: number;
  readonly text: string;
  readonly delivery: Delivery;
  readonly sealed: boolean;
}

export async function createVersion(ctx: Ctx, version: NewVersion, keys: SecretKeys): Promise<void> {
  const { text, ...columns } = version;
  const id = newId('scv');
  await ctx.tx.secretVersion.create({
    data: {
      ...columns,
      ...(await keys.seal(ctx, id, Buffer.from(text, 'utf8'))),
      id,
      organizationId: ctx.organizationId,
      sizeBytes: byteLength(text),
      references: referencesOf(text),
      authorUserId: actorUserId(ctx.actor),
      createdAt: ctx.clock.now(),
    },
  });
}

/** Never the value, and nothing that follows from it. */
export function auditFields(
  { appId, groupId }: { readonly appId: string | null; readonly groupId: string | null },
  version: number,
  { delivery, sealed }: { readonly delivery: string; readonly sealed: boolean },
  expiresAt: Date | null,
) {
  const owner = appId === null ? { group: parseId('scg', groupId ?? '') } : { app: appId };
  return { ...owner, version, delivery, sealed, expiresAt: expiresAt?.toISOString() ?? null };
}
