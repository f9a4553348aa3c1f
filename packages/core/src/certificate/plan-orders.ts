// Places orders for hosts that lack a certificate or have one that is due for renewal, and ends orders that their server
// does not finish. Safe to run twice: each certificate is locked while its order is decided.
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { AppError, notifyChange, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { createKey, thumbprintOf } from './keys.ts';
import { recordFailure } from './record-orders.ts';
import { bumpServersOfHost, type HostServer, loadHosts } from './store.ts';

/** Maximum number of orders of an organization at a time: an authority limits the pending ones of an account. */
const ordersMax = 10;
/** An agent ends an order within five minutes. */
const orderTimeoutMs = 10 * 60_000;

export interface AcmeConfig {
  readonly directoryUrl: string;
}

/** Returns the organizations that have a public host. */
export async function listOrganizationsWithHosts({ tx }: SystemCtx): Promise<readonly OrganizationId[]> {
  const rows = await tx.$queryRaw<{ organizationId: string }[]>`
    SELECT DISTINCT organization_id AS "organizationId" FROM domain
    WHERE host <> 'localhost' AND host NOT LIKE '%.localhost' ORDER BY organization_id`;
  return rows.map(({ organizationId }) => parseId('org', organizationId));
}

/** Places the orders of one organization that are due. */
export async function planOrders(ctx: OrganizationCtx, keys: SecretKeys, config: AcmeConfig): Promise<void> {
  const hosts = await loadHosts(ctx);
  if (hosts.size === 0) return;
  const { tx, organizationId } = ctx;
  const names = [...hosts.keys()];
  const known = await tx.certificate.findMany({
    where: { organizationId, host: { in: names } },
    select: { host: true },
  });
  const knownNames = new Set(known.map(({ host }) => host));
  const missing = names.filter((host) => !knownNames.has(host));
  if (missing.length > 0) await createCertificates(ctx, keys, config, missing);
  let running = await tx.certificate.count({ where: { organizationId, orderServerId: { not: null } } });
  for (const [host, servers] of hosts) {
    const certificate = await lockCertificate(ctx, host);
    if (certificate === null) continue;
    if (certificate.orderServerId !== null) {
      await endLostOrder(ctx, certificate, servers);
      continue;
    }
    const server = servers.find(({ canServe }) => canServe);
    if (server === undefined || running >= ordersMax || !isDue(certificate, ctx.clock.now())) continue;
    running += 1;
    await placeOrder(ctx, keys, certificate, { server, servers });
  }
}

interface LockedCertificate {
  readonly id: string;
  readonly host: string;
  readonly attempt: number;
  readonly keyId: string | null;
  readonly renewAt: Date | null;
  readonly nextAttemptAt: Date | null;
  readonly orderServerId: string | null;
  readonly orderedAt: Date | null;
}

function isDue({ keyId, renewAt, nextAttemptAt }: LockedCertificate, now: Date): boolean {
  if (nextAttemptAt !== null && nextAttemptAt > now) return false;
  return keyId === null || (renewAt !== null && renewAt <= now);
}

async function lockCertificate(ctx: OrganizationCtx, host: string): Promise<LockedCertificate | null> {
  const [row] = await ctx.tx.$queryRaw<LockedCertificate[]>`
    SELECT id, host, attempt, key_id AS "keyId", renew_at AS "renewAt", next_attempt_at AS "nextAttemptAt",
           order_server_id AS "orderServerId", ordered_at AS "orderedAt"
    FROM certificate WHERE organization_id = ${ctx.organizationId} AND host = ${host} FOR UPDATE SKIP LOCKED`;
  return row ?? null;
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

/** Ends an order that its server can't finish any more. */
async function endLostOrder(
  ctx: OrganizationCtx,
  { id, host, attempt, orderServerId, orderedAt }: LockedCertificate,
  servers: readonly HostServer[],
): Promise<void> {
  const isHere = servers.some((server) => server.id === orderServerId);
  const isOverdue = orderedAt !== null && ctx.clock.now().getTime() - orderedAt.getTime() > orderTimeoutMs;
  if (isHere && !isOverdue) return;
  if (orderServerId === null) throw new AppError('internal.unexpected', { certificateId: id });
  const message = isHere
    ? 'The server did not finish the order in time. Check that its agent is connected.'
    : 'The app moved to another server during the order.';
  await recordFailure(ctx, { id, host, attempt }, { code: 'certificate.timeout', message, retryAfter: null });
}
