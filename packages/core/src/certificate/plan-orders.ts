// Places orders for hosts that lack a certificate or have one that is due for renewal, and ends orders that their server
// does not finish. Safe to run twice: each certificate is locked while its order is decided.
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { notifyChange, type OrganizationCtx, type SystemCtx, withDeletedApps } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { createKey, thumbprintOf } from './keys.ts';
import { recordFailure } from './record-orders.ts';
import { bumpServersOfHost, deleteKey, type HostServer, loadHosts, noOrder } from './store.ts';

/** Maximum number of orders of an organization at a time: an authority limits the pending ones of an account. */
const ordersMax = 10;
/** An agent ends an order within five minutes. */
const orderTimeoutMs = 10 * 60_000;
/** Longest wait for servers that should answer challenges too: one that is stuck must not block the others. */
const responderTimeoutMs = 2 * 60_000;
/** Maximum number of certificates in one transaction. */
const portion = 50;

export interface AcmeConfig {
  readonly directoryUrl: string;
}

/** Returns the organizations that have a public host or a certificate. */
export async function listOrganizationsWithHosts({ tx }: SystemCtx): Promise<readonly OrganizationId[]> {
  const rows = await tx.$queryRaw<{ organizationId: string }[]>`
    SELECT organization_id AS "organizationId" FROM domain WHERE host <> 'localhost' AND host NOT LIKE '%.localhost'
    UNION SELECT organization_id FROM certificate ORDER BY 1`;
  return rows.map(({ organizationId }) => parseId('org', organizationId));
}

/** Places the orders of one organization that are due, a portion at a time. */
export async function planOrders(ctx: OrganizationCtx, keys: SecretKeys, config: AcmeConfig): Promise<void> {
  const hosts = await loadHosts(ctx);
  const { tx, organizationId } = ctx;
  const names = [...hosts.keys()];
  const known = await tx.certificate.findMany({ where: { organizationId }, select: { host: true } });
  const knownNames = new Set(known.map(({ host }) => host));
  if (known.some(({ host }) => !hosts.has(host))) await endOrdersOfLostHosts(ctx, names);
  const missing = names.filter((host) => !knownNames.has(host));
  if (missing.length > 0) await createCertificates(ctx, keys, config, missing);
  let running = await tx.certificate.count({ where: { organizationId, orderServerId: { not: null } } });
  for (const certificate of await lockDueCertificates(ctx, names)) {
    const servers = hosts.get(certificate.host) ?? [];
    if (certificate.orderServerId !== null) {
      await endLostOrder(ctx, certificate, servers);
      continue;
    }
    const server = servers.find(({ canServe }) => canServe);
    if (server === undefined || running >= ordersMax) continue;
    running += 1;
    await placeOrder(ctx, keys, certificate, { server, servers });
  }
}

/** Ends orders of hosts that are no domain now, and deletes certificates of hosts that not even a deleted app keeps. */
async function endOrdersOfLostHosts(ctx: OrganizationCtx, names: readonly string[]): Promise<void> {
  const { tx, organizationId } = ctx;
  const lost = await tx.certificate.findMany({
    where: { organizationId, host: { notIn: [...names] } },
    select: { id: true, host: true, keyId: true, orderKeyId: true },
  });
  const hosts = lost.map(({ host }) => host);
  const kept = await withDeletedApps(ctx, () =>
    tx.domain.findMany({ where: { organizationId, host: { in: hosts } }, distinct: ['host'], select: { host: true } }),
  );
  const keptHosts = new Set(kept.map(({ host }) => host));
  for (const { id, host, keyId, orderKeyId } of lost) {
    const isKept = keptHosts.has(host);
    if (isKept && orderKeyId === null) continue;
    if (isKept) await tx.certificate.update({ where: { id, organizationId }, data: noOrder });
    else await tx.certificate.deleteMany({ where: { id, organizationId } });
    await deleteKey(ctx, orderKeyId);
    if (!isKept) await deleteKey(ctx, keyId);
  }
}

interface LockedCertificate {
  readonly id: string;
  readonly host: string;
  readonly attempt: number;
  readonly orderServerId: string | null;
  readonly orderedAt: Date | null;
  /** Servers that don't answer its challenges yet. */
  readonly unreadyServers: unknown;
}

/** Locks certificates with an order or with one that is due, the longest overdue first. Skips those that another worker holds. */
function lockDueCertificates(ctx: OrganizationCtx, names: readonly string[]): Promise<LockedCertificate[]> {
  const now = ctx.clock.now();
  return ctx.tx.$queryRaw<LockedCertificate[]>`
    SELECT id, host, attempt, order_server_id AS "orderServerId", ordered_at AS "orderedAt",
           unready_servers AS "unreadyServers"
    FROM certificate
    WHERE organization_id = ${ctx.organizationId} AND host = ANY(${names})
      AND (order_server_id IS NOT NULL
        OR ((key_id IS NULL OR renew_at <= ${now}) AND (next_attempt_at IS NULL OR next_attempt_at <= ${now})))
    ORDER BY order_server_id IS NULL, coalesce(next_attempt_at, renew_at, created_at), host
    LIMIT ${portion} FOR UPDATE SKIP LOCKED`;
}

async function createCertificates(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  config: AcmeConfig,
  hosts: readonly string[],
): Promise<void> {
  const { tx, organizationId } = ctx;
  const accountId = await findOrCreateAccount(ctx, keys, config);
  const createdAt = ctx.clock.now();
  await tx.certificate.createMany({
    data: hosts.map((host) => ({ id: newId('crt'), organizationId, host, accountId, createdAt })),
    skipDuplicates: true,
  });
}

async function findOrCreateAccount(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  { directoryUrl }: AcmeConfig,
): Promise<string> {
  const { tx, organizationId } = ctx;
  const where = { organizationId_directoryUrl: { organizationId, directoryUrl } };
  // Two workers never create two accounts.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`acme account ${organizationId}`}, 0))`;
  const known = await tx.acmeAccount.findUnique({ where, select: { id: true } });
  if (known !== null) return known.id;
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
  return account.id;
}

async function placeOrder(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  { id, host, attempt }: LockedCertificate,
  { server, servers }: { readonly server: HostServer; readonly servers: readonly HostServer[] },
): Promise<void> {
  const { tx, organizationId } = ctx;
  const key = await createKey(ctx, keys);
  const order = { attempt: attempt + 1, orderServerId: server.id, orderKeyId: key.id, orderedAt: ctx.clock.now() };
  await tx.certificate.update({
    where: { id, organizationId },
    data: { ...order, step: null, nextAttemptAt: null },
  });
  const versions = await bumpServersOfHost(ctx, host);
  // The order starts once every other server that can be reached answers its challenges too.
  const others = servers.filter((other) => other.id !== server.id && other.canServe);
  const unreadyServers = Object.fromEntries(others.map((other) => [other.id, versions[other.id] ?? 0]));
  await tx.certificate.update({ where: { id, organizationId }, data: { unreadyServers } });
  await notifyChange(ctx, { kind: 'certificate', id });
}

/** Ends an order that its server can't finish any more, and starts one that has waited too long for other servers. */
async function endLostOrder(
  ctx: OrganizationCtx,
  { id, host, orderServerId, orderedAt, unreadyServers }: LockedCertificate,
  servers: readonly HostServer[],
): Promise<void> {
  const ageMs = ctx.clock.now().getTime() - (orderedAt?.getTime() ?? 0);
  const isHere = servers.some((server) => server.id === orderServerId);
  if (isHere && ageMs <= orderTimeoutMs) {
    if (ageMs <= responderTimeoutMs || Object.keys(unreadyServers ?? {}).length === 0) return;
    await ctx.tx.certificate.update({
      where: { id, organizationId: ctx.organizationId },
      data: { unreadyServers: {} },
    });
    await bumpServersOfHost(ctx, host);
    return;
  }
  const message = isHere
    ? 'The server did not finish the order in time. Check that its agent is connected.'
    : 'The app moved to another server during the order.';
  await recordFailure(ctx, { id, host }, { code: 'certificate.timeout', message, retryAfter: null });
}
