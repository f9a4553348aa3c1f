// Reveals a value to a person; no other code does.
// Invariant: it never reveals a sealed one. The caller checks that the sign-in is fresh, because core knows no
// sessions.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { SecretKeys } from './data-key.ts';
import type { RevealedSecret, SecretVersionRef } from './schema.ts';
import { requireSecret, requireValue } from './store.ts';

/** The value as it was written, references and all. Written down in the audit log in the same transaction. */
export async function revealSecret(ctx: Ctx, input: SecretVersionRef, keys: SecretKeys): Promise<RevealedSecret> {
  const { number } = input;
  const { id, name, appId, groupId } = await requireSecret(ctx, input.secretId);
  const version = await ctx.tx.secretVersion.findFirst({
    where: { secretId: id, number, organizationId: ctx.organizationId },
    select: { id: true, sealed: true },
  });
  if (version === null) throw new AppError('secret.version_not_found', { secretId: id, number });
  if (version.sealed) throw new AppError('secret.sealed', { name });
  const plain = await keys.open(ctx.organizationId, await requireValue(ctx, version.id));
  await recordAudit(ctx, {
    action: 'secret.reveal',
    target: { kind: 'secret', id, label: name },
    after: { app: appId, group: groupId, version: number },
  });
  return { name, number, value: plain.toString('utf8') };
}
