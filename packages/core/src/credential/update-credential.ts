// User names and passwords for repositories over https and for image registries. Each goes to one host only.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import type { CredentialList, CredentialRef, CredentialsOf, UpdateCredentialInput } from './schema.ts';
import { credentialKindSchema } from './schema.ts';
import { requireApp, writeCredential } from './store.ts';

export async function updateCredential(
  ctx: Ctx,
  input: UpdateCredentialInput,
  keys: SecretKeys,
): Promise<CredentialRef> {
  const { appId, kind, host, username, password } = input;
  const name = await writeCredential(ctx, appId, { kind, host, username, secret: password }, keys);
  await recordAudit(ctx, {
    action: 'credential.update',
    target: { kind: 'app', id: appId, label: name },
    after: { kind, host, username },
  });
  return { appId, kind };
}

export async function deleteCredential(ctx: Ctx, input: CredentialRef): Promise<CredentialRef> {
  const { appId, kind } = input;
  const { name } = await requireApp(ctx, appId);
  const { count } = await ctx.tx.sourceCredential.deleteMany({
    where: { appId, kind, organizationId: ctx.organizationId },
  });
  if (count === 0) throw new AppError('credential.not_found', { appId, kind });
  await recordAudit(ctx, {
    action: 'credential.delete',
    target: { kind: 'app', id: appId, label: name },
    before: { kind },
  });
  return { appId, kind };
}

/** Lists the credentials of an app, without their secret values. */
export async function listCredentials(ctx: Ctx, { appId }: CredentialsOf): Promise<CredentialList> {
  await requireApp(ctx, appId);
  const rows = await ctx.tx.sourceCredential.findMany({
    // Fairlead alone creates and deletes tokens of installations.
    where: { appId, organizationId: ctx.organizationId, kind: { not: 'github' } },
    select: { kind: true, host: true, username: true, publicKey: true, knownHosts: true, createdAt: true },
    orderBy: { kind: 'asc' },
  });
  return { items: rows.map((row) => ({ ...row, kind: credentialKindSchema.parse(row.kind) })) };
}
