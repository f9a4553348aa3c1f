// Places orders for hosts that lack a certificate or have one that is due for renewal, and ends orders that their server
// does not finish. Safe to run twice: each certificate is locked while its order is decided.
import { newId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { loadZones } from '../dns-provider/index.ts';
import { type OrganizationCtx, type SystemCtx, withDeletedApps } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { findOrCreateAccount } from './accounts.ts';
import { findCoveredHosts } from './base-domains.ts';
import { recordOutcome } from './budget.ts';
import { findProofPlace, loadHostFacts } from './host-facts.ts';
import { type AcmeConfig, type DueCertificate, placeOrder } from './place-order.ts';
import { recordFailure } from './record-orders.ts';
import { bumpServersOfHost, deleteKey, type HostServer, loadHosts, noOrder } from './store.ts';
import { endExpiredUploads, listUploadedHosts } from './uploads.ts';

/** Maximum number of orders of an organization at a time: an authority limits the pending ones of an account. */
const ordersMax = 10;
/** An agent ends an order within five minutes; with DNS-01 and TLS-ALPN-01 within fifteen. */
const orderTimeoutMs = 10 * 60_000;
const provenOrderTimeoutMs = 20 * 60_000;
/** Longest wait for servers that should answer challenges too: one that is stuck must not block the others. */
const responderTimeoutMs = 2 * 60_000;
/** Maximum number of certificates in one transaction. */
const portion = 50;

/** Returns the organizations that have a public host or a certificate. */
export async function listOrganizationsWithHosts({ tx }: SystemCtx): Promise<readonly OrganizationId[]> {
  const rows = await tx.$queryRaw<{ organizationId: string }[]>`
    SELECT organization_id AS "organizationId" FROM domain WHERE host <> 'localhost' AND host NOT LIKE '%.localhost'
    UNION SELECT organization_id FROM dashboard_domain
    UNION SELECT organization_id FROM certificate ORDER BY 1`;
  return rows.map(({ organizationId }) => parseId('org', organizationId));
}

/** Places the orders of one organization that are due, a portion at a time. */
export async function planOrders(ctx: OrganizationCtx, keys: SecretKeys, config: AcmeConfig): Promise<void> {
  const { covered, superseded } = await findCoveredHosts(ctx);
  const hosts = new Map([...(await loadHosts(ctx))].filter(([host]) => !covered.has(host)));
  const { tx, organizationId } = ctx;
  const names = [...hosts.keys()];
  const known = await tx.certificate.findMany({ where: { organizationId }, select: { host: true } });
  const knownNames = new Set(known.map(({ host }) => host));
  if (known.some(({ host }) => !hosts.has(host))) await endOrdersOfLostHosts(ctx, names, superseded);
  await endExpiredUploads(ctx);
  const uploaded = await listUploadedHosts(ctx, names);
  const missing = names.filter((host) => !knownNames.has(host) && !uploaded.includes(host));
  if (missing.length > 0) await createCertificates(ctx, keys, config, missing);
  let running = await tx.certificate.count({ where: { organizationId, orderServerId: { not: null } } });
  const due = await lockDueCertificates(ctx, { names, uploaded });
  const findZone = due.length === 0 ? () => null : await loadZones(ctx);
  const factsOf = await loadHostFacts(
    ctx,
    due.map(({ host }) => host),
  );
  for (const certificate of due) {
    const servers = hosts.get(certificate.host) ?? [];
    if (certificate.orderServerId !== null) {
      await endLostOrder(ctx, certificate, servers);
      continue;
    }
    if (running >= ordersMax || !servers.some(({ canServe }) => canServe)) continue;
    const facts = factsOf(certificate.host);
    const place = findProofPlace(findZone, certificate.host, facts);
    if (await placeOrder(ctx, keys, certificate, { servers, config, place, facts })) running += 1;
  }
}

/**
 * Ends orders of hosts that are no domain now, or that a wildcard covers. Deletes certificates of hosts that not even a deleted
 * app keeps, and of those in `superseded`.
 */
async function endOrdersOfLostHosts(
  ctx: OrganizationCtx,
  names: readonly string[],
  superseded: ReadonlySet<string>,
): Promise<void> {
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
    const isKept = keptHosts.has(host) && !superseded.has(host);
    if (isKept && orderKeyId === null) continue;
    await recordOutcome(ctx, host, 'certificate.cancelled');
    if (isKept) await tx.certificate.update({ where: { id, organizationId }, data: noOrder });
    else await tx.certificate.deleteMany({ where: { id, organizationId } });
    await deleteKey(ctx, orderKeyId);
    if (!isKept) await deleteKey(ctx, keyId);
    if (superseded.has(host)) await bumpServersOfHost(ctx, host);
  }
}

interface LockedCertificate extends DueCertificate {
  readonly orderServerId: string | null;
  readonly orderedAt: Date | null;
  readonly respondersSince: Date | null;
  /** Servers that don't answer its challenges yet. */
  readonly unreadyServers: unknown;
}

/**
 * Locks certificates with an order or with one that is due, the longest overdue first. Skips those that another worker holds, and
 * the first one of a dashboard's domain until its name resolves: failed validations count against the authority's limits.
 */
function lockDueCertificates(
  ctx: OrganizationCtx,
  { names, uploaded }: { readonly names: readonly string[]; readonly uploaded: readonly string[] },
): Promise<LockedCertificate[]> {
  const now = ctx.clock.now();
  return ctx.tx.$queryRaw<LockedCertificate[]>`
    SELECT id, host, attempt, account_id AS "accountId", challenge, key_id AS "keyId", failure_code AS "failureCode",
           failed_at AS "failedAt", order_server_id AS "orderServerId", ordered_at AS "orderedAt",
           responders_since AS "respondersSince", unready_servers AS "unreadyServers"
    FROM certificate
    WHERE organization_id = ${ctx.organizationId} AND host = ANY(${names})
      AND (order_server_id IS NOT NULL
        OR (host <> ALL(${uploaded}) AND (key_id IS NULL OR renew_at <= ${now}) AND (next_attempt_at IS NULL OR next_attempt_at <= ${now})
          AND NOT (key_id IS NULL AND EXISTS (
            SELECT FROM dashboard_domain JOIN domain_host USING (organization_id, host)
            WHERE organization_id = certificate.organization_id AND host = certificate.host
              AND domain_host.state IN ('pending', 'not_resolving')))))
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
  const { id: accountId } = await findOrCreateAccount(ctx, keys, config.directoryUrl);
  const createdAt = ctx.clock.now();
  await tx.certificate.createMany({
    data: hosts.map((host) => ({ id: newId('crt'), organizationId, host, accountId, createdAt })),
    skipDuplicates: true,
  });
}

/** Ends an order that its server can't finish any more, and continues one that has waited too long for other servers. */
async function endLostOrder(
  ctx: OrganizationCtx,
  certificate: LockedCertificate,
  servers: readonly HostServer[],
): Promise<void> {
  const { id, host, orderServerId, orderedAt, respondersSince, unreadyServers, challenge } = certificate;
  const now = ctx.clock.now().getTime();
  const ageMs = now - (orderedAt?.getTime() ?? 0);
  const isHere = servers.some((server) => server.id === orderServerId);
  if (isHere && ageMs <= (challenge === 'http-01' ? orderTimeoutMs : provenOrderTimeoutMs)) {
    const waitedMs = now - (respondersSince?.getTime() ?? now);
    if (waitedMs <= responderTimeoutMs || Object.keys(unreadyServers ?? {}).length === 0) return;
    await ctx.tx.certificate.update({
      where: { id, organizationId: ctx.organizationId },
      data: { unreadyServers: {} },
    });
    await bumpServersOfHost(ctx, host);
    return;
  }
  const message = isHere ? await lateReason(ctx, certificate) : 'The app moved to another server during the order.';
  await recordFailure(ctx, { id, host }, { code: 'certificate.timeout', message, retryAfter: null });
}

/** Returns why an order took too long: a TXT record that is not in place, or the server itself. */
async function lateReason(ctx: OrganizationCtx, { id, attempt }: LockedCertificate): Promise<string> {
  const record = await ctx.tx.dnsRecord.findFirst({
    where: { certificateId: id, attempt, organizationId: ctx.organizationId, state: { in: ['put', 'wait'] } },
    select: { name: true, zone: true, failureMessage: true },
  });
  if (record === null) return 'The server did not finish the order in time. Check that its agent is connected.';
  const { name, zone, failureMessage } = record;
  if (failureMessage !== null) return failureMessage;
  return `The name servers of ${zone} do not show the TXT record ${name}. Check that the zone is delegated to its DNS provider.`;
}
