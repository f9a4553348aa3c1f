// Accounts at certificate authorities: one for each organization and directory. An account that its authority no longer accepts
// gets a new key, which is a new account there.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { createKey, thumbprintOf } from './keys.ts';
import { deleteKey } from './store.ts';

/** Minimum time between two new keys of an account: an agent may report that its authority refuses each. */
const replacePauseMs = 3_600_000;

export interface UsableAccount {
  readonly id: string;
  /** False until the control plane has registered the key, if the authority wants external account binding. */
  readonly isRegistered: boolean;
}

export async function findOrCreateAccount(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  directoryUrl: string,
): Promise<UsableAccount> {
  const { tx, organizationId } = ctx;
  const where = { organizationId_directoryUrl: { organizationId, directoryUrl } };
  // Two workers never create two accounts.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`acme account ${organizationId}`}, 0))`;
  const known = await tx.acmeAccount.findUnique({ where, select: { id: true, registeredAt: true } });
  if (known !== null) return { id: known.id, isRegistered: known.registeredAt !== null };
  const key = await createKey(ctx, keys);
  const account = await tx.acmeAccount.create({
    data: {
      id: newId('aca'),
      organizationId,
      directoryUrl,
      keyId: key.id,
      thumbprint: thumbprintOf(key.publicKey),
      createdAt: ctx.clock.now(),
    },
    select: { id: true },
  });
  return { id: account.id, isRegistered: false };
}

/** Gives an account that its authority refused at `refusedAt` a new key. */
export async function replaceAccount(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  { id, refusedAt }: { readonly id: string; readonly refusedAt: Date },
): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const account = await tx.acmeAccount.findUniqueOrThrow({ where: { id, organizationId } });
  const { keyId, replacedAt, directoryUrl } = account;
  // Another certificate's order may have replaced it in the meantime.
  if (replacedAt !== null && (replacedAt >= refusedAt || now.getTime() - replacedAt.getTime() < replacePauseMs)) return;
  const key = await createKey(ctx, keys);
  await tx.acmeAccount.update({
    where: { id, organizationId },
    data: {
      keyId: key.id,
      thumbprint: thumbprintOf(key.publicKey),
      registeredAt: null,
      failure: null,
      replacedAt: now,
    },
  });
  await deleteKey(ctx, keyId);
  await recordAudit(
    { ...ctx, actor: { kind: 'system', reason: 'certificate.plan' } },
    { action: 'certificate.replace_account', target: { kind: 'certificate', id, label: directoryUrl } },
  );
}

export interface AccountToRegister {
  readonly id: string;
  readonly directoryUrl: string;
  /** PKCS#8 in DER. */
  readonly keyDer: Buffer;
}

/** Returns the account of this directory that waits for its registration; null if none does. */
export async function findAccountToRegister(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  directoryUrl: string,
): Promise<AccountToRegister | null> {
  const { tx, organizationId } = ctx;
  const account = await tx.acmeAccount.findFirst({
    where: { organizationId, directoryUrl, registeredAt: null },
    include: { key: { include: { dataKey: true } } },
  });
  if (account === null) return null;
  const { id, envelope, dataKey } = account.key;
  return {
    id: account.id,
    directoryUrl,
    keyDer: await keys.open(organizationId, { versionId: id, envelope, dataKey }),
  };
}

/** Records the end of a registration; null: it succeeded. */
export async function recordRegistration(ctx: OrganizationCtx, id: string, failure: string | null): Promise<void> {
  const { tx, organizationId } = ctx;
  const registeredAt = failure === null ? ctx.clock.now() : null;
  await tx.acmeAccount.update({ where: { id, organizationId }, data: { registeredAt, failure } });
  if (failure !== null) {
    await tx.certificate.updateMany({
      where: { organizationId, accountId: id, orderServerId: null, keyId: null },
      data: { failureCode: 'certificate.account', failureMessage: failure, failedAt: ctx.clock.now() },
    });
  }
}
