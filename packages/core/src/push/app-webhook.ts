// Webhooks of single apps, for git hosts without an integration. A token is stored hashed and a secret encrypted; each is
// shown once.
import { newId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, mintToken } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import {
  type CreatedWebhook,
  type CreateWebhookInput,
  type WebhookList,
  type WebhookRef,
  type WebhooksOf,
  webhookKindSchema,
} from './schema.ts';

const webhooksMax = 20;
const hintLength = 4;

export async function listWebhooks(ctx: Ctx, { appId }: WebhooksOf): Promise<WebhookList> {
  await requireApp(ctx, appId);
  const { tx, organizationId } = ctx;
  const rows = await tx.appWebhook.findMany({
    where: { appId, organizationId },
    select: { id: true, name: true, kind: true, hint: true, createdAt: true, rotatedAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const last = await tx.webhookDelivery.groupBy({
    by: ['endpointId'],
    where: { organizationId, endpointId: { in: rows.map(({ id }) => id) } },
    _max: { receivedAt: true },
  });
  return {
    items: rows.map((row) => ({
      ...row,
      id: parseId('whk', row.id),
      kind: webhookKindSchema.parse(row.kind),
      lastDeliveryAt: last.find(({ endpointId }) => endpointId === row.id)?._max.receivedAt ?? null,
    })),
  };
}

/** Throws webhook.name_taken and webhook.too_many. */
export async function createWebhook(ctx: Ctx, input: CreateWebhookInput, keys: SecretKeys): Promise<CreatedWebhook> {
  const { tx, organizationId } = ctx;
  const { appId, name, kind } = input;
  const app = await requireApp(ctx, appId);
  const others = await tx.appWebhook.findMany({ where: { appId, organizationId }, select: { name: true } });
  if (others.some((other) => other.name === name)) throw new AppError('webhook.name_taken', { name });
  if (others.length >= webhooksMax) throw new AppError('webhook.too_many', { max: webhooksMax });
  const id = newId('whk');
  const { credential, columns } = await newCredential(ctx, { id, kind }, keys);
  await tx.appWebhook.create({
    data: { id, organizationId, appId, name, kind, ...columns, createdAt: ctx.clock.now() },
  });
  await recordAudit(ctx, {
    action: 'webhook.create',
    target: { kind: 'app', id: appId, label: app.name },
    after: { webhook: name, kind },
  });
  return { id, credential };
}

/** Replaces the token or secret; the old one stops working at once. */
export async function rotateWebhook(ctx: Ctx, input: WebhookRef, keys: SecretKeys): Promise<CreatedWebhook> {
  const { webhookId, appId } = input;
  const { name, kind, appName } = await requireWebhook(ctx, input);
  const { credential, columns } = await newCredential(ctx, { id: webhookId, kind }, keys);
  await ctx.tx.appWebhook.update({ where: { id: webhookId }, data: { ...columns, rotatedAt: ctx.clock.now() } });
  await recordAudit(ctx, {
    action: 'webhook.rotate',
    target: { kind: 'app', id: appId, label: appName },
    after: { webhook: name },
  });
  return { id: webhookId, credential };
}

export async function deleteWebhook(ctx: Ctx, input: WebhookRef): Promise<WebhookRef> {
  const { webhookId, appId } = input;
  const { name, appName } = await requireWebhook(ctx, input);
  await ctx.tx.appWebhook.delete({ where: { id: webhookId } });
  await recordAudit(ctx, {
    action: 'webhook.delete',
    target: { kind: 'app', id: appId, label: appName },
    before: { webhook: name },
  });
  return { appId, webhookId };
}

async function newCredential(
  ctx: Ctx,
  { id, kind }: { readonly id: string; readonly kind: 'token' | 'signature' },
  keys: SecretKeys,
) {
  const { token, hash } = mintToken(kind === 'token' ? 'flh' : 'fls');
  const shared = { hint: token.slice(-hintLength), createdByUserId: actorUserId(ctx.actor) };
  if (kind === 'token') return { credential: token, columns: { ...shared, hash } };
  const active = await keys.active(ctx);
  const envelope = active.seal(id, Buffer.from(token, 'utf8'));
  return { credential: token, columns: { ...shared, dataKeyId: active.dataKeyId, envelope } };
}

async function requireApp({ tx, organizationId }: Ctx, appId: string): Promise<{ readonly name: string }> {
  const app = await tx.app.findFirst({ where: { id: appId, organizationId }, select: { name: true } });
  if (app === null) throw new AppError('app.not_found', { appId });
  return app;
}

async function requireWebhook({ tx, organizationId }: Ctx, { appId, webhookId }: WebhookRef) {
  const row = await tx.appWebhook.findFirst({
    where: { id: webhookId, appId, organizationId },
    select: { name: true, kind: true, app: { select: { name: true } } },
  });
  if (row === null) throw new AppError('webhook.not_found', { webhookId });
  return { name: row.name, kind: webhookKindSchema.parse(row.kind), appName: row.app.name };
}
