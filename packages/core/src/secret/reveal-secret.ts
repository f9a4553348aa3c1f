// Owns the only way by which a value comes back to a person. Must never answer for a sealed one. That the person signed in
// a short while ago is for the caller to check: core knows no sessions.
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
