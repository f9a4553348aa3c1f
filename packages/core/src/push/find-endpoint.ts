// Finds what authenticates the requests to a webhook: of a GitHub App's registration, or of one app.
import { isId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { githubSecretId, type SecretKeys } from '../secret/index.ts';

export interface WebhookEndpoint {
  readonly id: string;
  readonly organizationId: OrganizationId;
  readonly source: 'github' | 'app';
  /** Key that signs the bodies, or hash of the token that requests have. */
  readonly check:
    | { readonly kind: 'signature'; readonly secret: Buffer }
    | { readonly kind: 'token'; readonly hash: string };
}

/** Returns null for an unknown endpoint, and for a GitHub App without a secret. */
export async function findEndpoint(
  { tx }: Pick<SystemCtx, 'tx'>,
  { id }: { readonly id: string },
  keys: SecretKeys,
): Promise<WebhookEndpoint | null> {
  if (isId('gha', id)) {
    const row = await tx.githubApp.findUnique({ where: { id }, include: { dataKey: true } });
    if (row === null || row.webhookSecret.length === 0) return null;
    const versionId = githubSecretId(id, 'webhookSecret');
    const value = { versionId, envelope: row.webhookSecret, dataKey: row.dataKey };
    const secret = await keys.open(row.organizationId, value);
    if (secret.length === 0) return null;
    return {
      id,
      organizationId: parseId('org', row.organizationId),
      source: 'github',
      check: { kind: 'signature', secret },
    };
  }
  if (!isId('whk', id)) return null;
  // System scope sees webhooks of deleted apps; their requests are refused.
  const row = await tx.appWebhook.findFirst({ where: { id, app: { deletion: null } }, include: { dataKey: true } });
  if (row === null) return null;
  const endpoint = { id, organizationId: parseId('org', row.organizationId), source: 'app' } as const;
  if (row.hash !== null) return { ...endpoint, check: { kind: 'token', hash: row.hash } };
  if (row.envelope === null || row.dataKey === null) return null;
  const secret = await keys.open(row.organizationId, { versionId: id, envelope: row.envelope, dataKey: row.dataKey });
  return { ...endpoint, check: { kind: 'signature', secret } };
}
