// Re-encrypts stored secrets without downtime: data keys to the newest master key, values to the newest data key.
// Each batch is one transaction, so a concurrent reader gets an envelope together with its key.
import { parseId } from '@fairlead/contract/ids';
import { AppError, forOrganization, type Log, type SystemCtx } from '../kernel/index.ts';
import { type SecretKeys, wrappedPlace } from './data-key.ts';
import { type GithubSecret, githubSecretId } from './github-secret.ts';
import { loadValues } from './store.ts';

export interface Rotated {
  readonly rewrapped: number;
  readonly reencrypted: number;
  readonly keysDeleted: number;
}

const portion = 100;

/** Re-encrypts one batch; zeros mean that nothing is left. */
export async function rotateValues(ctx: SystemCtx, keys: SecretKeys): Promise<Rotated> {
  const rewrapped = await rewrapKeys(ctx, keys);
  const reencrypted =
    (await reencryptValues(ctx, keys)) +
    (await reencryptCredentials(ctx, keys)) +
    (await reencryptCertificateKeys(ctx, keys)) +
    (await reencryptGithubApps(ctx, keys)) +
    (await reencryptWebhooks(ctx, keys)) +
    (await reencryptDnsProviders(ctx, keys));
  // A key in use cannot go: its versions point at it. Retired ones get no new versions. Skips a key that a writer holds:
  // waiting for it while it waits for a value of this batch would be a deadlock.
  const keysDeleted = await ctx.tx.$executeRaw`
    DELETE FROM data_key WHERE id IN (
      SELECT id FROM data_key WHERE retired_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM secret_version WHERE secret_version.data_key_id = data_key.id)
        AND NOT EXISTS (SELECT 1 FROM source_credential WHERE source_credential.data_key_id = data_key.id)
        AND NOT EXISTS (SELECT 1 FROM certificate_key WHERE certificate_key.data_key_id = data_key.id)
        AND NOT EXISTS (SELECT 1 FROM github_app WHERE github_app.data_key_id = data_key.id)
        AND NOT EXISTS (SELECT 1 FROM app_webhook WHERE app_webhook.data_key_id = data_key.id)
        AND NOT EXISTS (SELECT 1 FROM dns_provider WHERE dns_provider.data_key_id = data_key.id)
      ORDER BY id FOR UPDATE SKIP LOCKED)`;
  return { rewrapped, reencrypted, keysDeleted };
}

interface KeyRow {
  readonly id: string;
  readonly organizationId: string;
  readonly wrapped: Uint8Array<ArrayBuffer>;
  readonly masterKeyId: string;
}

async function rewrapKeys({ tx, log }: SystemCtx, { wrapper }: SecretKeys): Promise<number> {
  let rewrapped = 0;
  const current = await wrapper.keyId();
  const rows = await tx.$queryRaw<KeyRow[]>`
    SELECT id, organization_id AS "organizationId", wrapped, master_key_id AS "masterKeyId" FROM data_key
    WHERE master_key_id <> ${current} ORDER BY id LIMIT ${portion} FOR UPDATE SKIP LOCKED`;
  for (const { id, organizationId, wrapped, masterKeyId } of rows) {
    const place = wrappedPlace(organizationId, id);
    const plain = await wrapper.unwrap(place, { keyId: masterKeyId, wrapped }).catch(undecryptable(log, { keyId: id }));
    if (plain === null) continue;
    const next = await wrapper.wrap(place, plain);
    rewrapped += 1;
    await tx.dataKey.update({ where: { id }, data: { wrapped: next.wrapped, masterKeyId: next.keyId } });
  }
  return rewrapped;
}

async function reencryptValues(ctx: SystemCtx, keys: SecretKeys): Promise<number> {
  let reencrypted = 0;
  const rows = await ctx.tx.$queryRaw<{ id: string; organizationId: string }[]>`
    SELECT version.id, version.organization_id AS "organizationId"
    FROM secret_version AS version JOIN data_key ON data_key.id = version.data_key_id
    WHERE data_key.retired_at IS NOT NULL ORDER BY version.id LIMIT ${portion} FOR UPDATE OF version SKIP LOCKED`;
  for (const [organizationId, versions] of Map.groupBy(rows, (row) => row.organizationId)) {
    const scoped = forOrganization(ctx, parseId('org', organizationId));
    const values = await loadValues(
      scoped,
      versions.map(({ id }) => id),
    );
    const active = await keys.active(scoped);
    for (const [versionId, value] of values) {
      const plain = await keys.open(organizationId, value).catch(undecryptable(ctx.log, { versionId }));
      if (plain === null) continue;
      reencrypted += 1;
      const data = { dataKeyId: active.dataKeyId, envelope: active.seal(versionId, plain) };
      await ctx.tx.secretVersion.update({ where: { id: versionId }, data });
    }
  }
  return reencrypted;
}

/** Re-encrypts source credentials, which are encrypted like secrets. */
async function reencryptCredentials(ctx: SystemCtx, keys: SecretKeys): Promise<number> {
  let reencrypted = 0;
  const due = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT credential.id FROM source_credential AS credential JOIN data_key ON data_key.id = credential.data_key_id
    WHERE data_key.retired_at IS NOT NULL ORDER BY credential.id LIMIT ${portion} FOR UPDATE OF credential SKIP LOCKED`;
  const rows = await ctx.tx.sourceCredential.findMany({
    where: { id: { in: due.map(({ id }) => id) } },
    include: { dataKey: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, organizationId, envelope, dataKey } of rows) {
    const value = { versionId: id, envelope, dataKey };
    const plain = await keys.open(organizationId, value).catch(undecryptable(ctx.log, { credentialId: id }));
    if (plain === null) continue;
    const active = await keys.active(forOrganization(ctx, parseId('org', organizationId)));
    reencrypted += 1;
    const data = { dataKeyId: active.dataKeyId, envelope: active.seal(id, plain) };
    await ctx.tx.sourceCredential.update({ where: { id }, data });
  }
  return reencrypted;
}

/** Re-encrypts private keys of certificates, which are encrypted like secrets. */
async function reencryptCertificateKeys(ctx: SystemCtx, keys: SecretKeys): Promise<number> {
  let reencrypted = 0;
  const due = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT key.id FROM certificate_key AS key JOIN data_key ON data_key.id = key.data_key_id
    WHERE data_key.retired_at IS NOT NULL ORDER BY key.id LIMIT ${portion} FOR UPDATE OF key SKIP LOCKED`;
  const rows = await ctx.tx.certificateKey.findMany({
    where: { id: { in: due.map(({ id }) => id) } },
    include: { dataKey: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, organizationId, envelope, dataKey } of rows) {
    const value = { versionId: id, envelope, dataKey };
    const plain = await keys.open(organizationId, value).catch(undecryptable(ctx.log, { keyId: id }));
    if (plain === null) continue;
    const active = await keys.active(forOrganization(ctx, parseId('org', organizationId)));
    reencrypted += 1;
    const data = { dataKeyId: active.dataKeyId, envelope: active.seal(id, plain) };
    await ctx.tx.certificateKey.update({ where: { id }, data });
  }
  return reencrypted;
}

/** Re-encrypts credentials of DNS providers, which are encrypted like secrets. */
async function reencryptDnsProviders(ctx: SystemCtx, keys: SecretKeys): Promise<number> {
  let reencrypted = 0;
  const due = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT provider.id FROM dns_provider AS provider JOIN data_key ON data_key.id = provider.data_key_id
    WHERE data_key.retired_at IS NOT NULL ORDER BY provider.id LIMIT ${portion} FOR UPDATE OF provider SKIP LOCKED`;
  const rows = await ctx.tx.dnsProvider.findMany({
    where: { id: { in: due.map(({ id }) => id) } },
    include: { dataKey: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, organizationId, envelope, dataKey } of rows) {
    const value = { versionId: id, envelope, dataKey };
    const plain = await keys.open(organizationId, value).catch(undecryptable(ctx.log, { dnsProviderId: id }));
    if (plain === null) continue;
    const active = await keys.active(forOrganization(ctx, parseId('org', organizationId)));
    reencrypted += 1;
    const data = { dataKeyId: active.dataKeyId, envelope: active.seal(id, plain) };
    await ctx.tx.dnsProvider.update({ where: { id }, data });
  }
  return reencrypted;
}

/** Re-encrypts the secrets that sign requests to webhooks of apps. */
async function reencryptWebhooks(ctx: SystemCtx, keys: SecretKeys): Promise<number> {
  let reencrypted = 0;
  const due = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT webhook.id FROM app_webhook AS webhook JOIN data_key ON data_key.id = webhook.data_key_id
    WHERE data_key.retired_at IS NOT NULL ORDER BY webhook.id LIMIT ${portion} FOR UPDATE OF webhook SKIP LOCKED`;
  const rows = await ctx.tx.appWebhook.findMany({
    where: { id: { in: due.map(({ id }) => id) } },
    include: { dataKey: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, organizationId, envelope, dataKey } of rows) {
    if (envelope === null || dataKey === null) continue;
    const value = { versionId: id, envelope, dataKey };
    const plain = await keys.open(organizationId, value).catch(undecryptable(ctx.log, { webhookId: id }));
    if (plain === null) continue;
    const active = await keys.active(forOrganization(ctx, parseId('org', organizationId)));
    reencrypted += 1;
    const data = { dataKeyId: active.dataKeyId, envelope: active.seal(id, plain) };
    await ctx.tx.appWebhook.update({ where: { id }, data });
  }
  return reencrypted;
}

/** Re-encrypts the secrets of GitHub Apps. All three of a row change, or none: they share the row's data key. */
async function reencryptGithubApps(ctx: SystemCtx, keys: SecretKeys): Promise<number> {
  let reencrypted = 0;
  const due = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT app.id FROM github_app AS app JOIN data_key ON data_key.id = app.data_key_id
    WHERE data_key.retired_at IS NOT NULL ORDER BY app.id LIMIT ${portion} FOR UPDATE OF app SKIP LOCKED`;
  const rows = await ctx.tx.githubApp.findMany({
    where: { id: { in: due.map(({ id }) => id) } },
    include: { dataKey: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, organizationId, dataKey, ...row } of rows) {
    const open = (secret: GithubSecret) =>
      keys.open(organizationId, { versionId: githubSecretId(id, secret), envelope: row[secret], dataKey });
    const plain = await Promise.all([open('privateKey'), open('webhookSecret'), open('clientSecret')]).catch(
      undecryptable(ctx.log, { githubAppId: id }),
    );
    if (plain === null) continue;
    const active = await keys.active(forOrganization(ctx, parseId('org', organizationId)));
    const seal = (secret: GithubSecret, value: Buffer) => active.seal(githubSecretId(id, secret), value);
    const [privateKey, webhookSecret, clientSecret] = plain;
    reencrypted += 1;
    await ctx.tx.githubApp.update({
      where: { id },
      data: {
        dataKeyId: active.dataKeyId,
        privateKey: seal('privateKey', privateKey),
        webhookSecret: seal('webhookSecret', webhookSecret),
        clientSecret: seal('clientSecret', clientSecret),
      },
    });
  }
  return reencrypted;
}

/** Logs and skips an undecryptable value: one organization's damage must not keep the others on their old keys. */
function undecryptable(log: Log, fields: object) {
  return (error: unknown): null => {
    if (!(error instanceof AppError && error.code === 'secret.undecryptable')) throw error;
    log.error({ ...fields, err: error }, 'a stored secret or its key could not be decrypted');
    return null;
  };
}

/** The master keys that still wrap a data key. */
export async function listMasterKeysInUse({ tx }: SystemCtx): Promise<ReadonlySet<string>> {
  const rows = await tx.dataKey.findMany({ distinct: ['masterKeyId'], select: { masterKeyId: true } });
  return new Set(rows.map(({ masterKeyId }) => masterKeyId));
}
