// Restores an older value as a new version, so that history only grows. It also restores a deleted secret.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { SecretKeys } from './data-key.ts';
import { secretsMax } from './rules.ts';
import { deliverySchema, type SecretVersionRef } from './schema.ts';
import { lockSecret, requireValue } from './store.ts';
import { createVersions } from './update-secrets.ts';

/** Nobody sees the value on the way, and what was sealed is sealed again. Answers the new version. Throws secret.too_many. */
export async function restoreSecret(ctx: Ctx, input: SecretVersionRef, keys: SecretKeys): Promise<SecretVersionRef> {
  const { tx, organizationId } = ctx;
  const secret = await lockSecret(ctx, input.secretId, { deletedToo: true });
  if (secret.deletedAt !== null) await requireRoom(ctx, secret);
  const versions = await tx.secretVersion.findMany({
    where: { secretId: secret.id, organizationId },
    select: { id: true, number: true, delivery: true, sealed: true, atBuild: true },
    orderBy: { number: 'desc' },
  });
  const old = versions.find(({ number }) => number === input.number);
  if (old === undefined) throw new AppError('secret.version_not_found', { secretId: secret.id, number: input.number });
  const number = (versions[0]?.number ?? 0) + 1;
  const text = (await keys.open(organizationId, await requireValue(ctx, old.id))).toString('utf8');
  const { sealed, atBuild } = old;
  const delivery = deliverySchema.parse(old.delivery);
  await createVersions(ctx, [{ secretId: secret.id, number, text, delivery, sealed, atBuild }], keys);
  await tx.secret.update({ where: { id: secret.id }, data: { number, deletedAt: null } });
  await recordAudit(ctx, {
    action: 'secret.restore',
    target: { kind: 'secret', id: secret.id, label: secret.name },
    before: { app: secret.appId, group: secret.groupId, version: secret.number },
    after: { app: secret.appId, group: secret.groupId, version: number, contentOf: old.number },
  });
  await notifyChange(ctx, {
    kind: 'app',
    id: secret.appId ?? secret.id,
    ...(secret.appId === null ? {} : { appId: secret.appId }),
  });
  return { secretId: parseId('sec', secret.id), number };
}

async function requireRoom(
  ctx: Ctx,
  { appId, environmentId, groupId }: { appId: string | null; environmentId: string | null; groupId: string | null },
): Promise<void> {
  const where = { organizationId: ctx.organizationId, appId, environmentId, groupId, deletedAt: null };
  if ((await ctx.tx.secret.count({ where })) >= secretsMax) throw new AppError('secret.too_many', { most: secretsMax });
}
