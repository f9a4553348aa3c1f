// Encrypts and decrypts source credentials. An envelope is bound to its own row.
import { newId } from '@fairlead/contract/ids';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import type { CredentialKind } from './schema.ts';

export interface CredentialWish {
  readonly kind: CredentialKind | 'github';
  readonly host?: string;
  readonly username?: string;
  readonly publicKey?: string;
  readonly knownHosts?: string;
  /** Default: never. */
  readonly expiresAt?: Date;
  /** The private half, or the password. */
  readonly secret: string;
}

/** Replaces an older credential of its kind. Returns the app's name; throws app.not_found. */
export async function writeCredential(
  ctx: OrganizationCtx,
  appId: string,
  wish: CredentialWish,
  keys: SecretKeys,
): Promise<string> {
  const { tx, organizationId } = ctx;
  const app = await requireApp(ctx, appId);
  await tx.sourceCredential.deleteMany({ where: { appId, kind: wish.kind, organizationId } });
  const id = newId('crd');
  const active = await keys.active(ctx);
  const { kind, host = '', username = '', publicKey = '', knownHosts = '', expiresAt = null } = wish;
  await tx.sourceCredential.create({
    data: {
      id,
      organizationId,
      appId,
      kind,
      host,
      username,
      publicKey,
      knownHosts,
      expiresAt,
      dataKeyId: active.dataKeyId,
      envelope: active.seal(id, Buffer.from(wish.secret, 'utf8')),
      createdAt: ctx.clock.now(),
    },
  });
  return app.name;
}

export async function requireApp(ctx: OrganizationCtx, appId: string) {
  const app = await ctx.tx.app.findFirst({
    where: { id: appId, organizationId: ctx.organizationId },
    select: { name: true, slug: true },
  });
  if (app === null) throw new AppError('app.not_found', { appId });
  return app;
}
