// Sets and removes the TXT records of orders, one step at a time: a step is claimed in one transaction, done without any, and
// settled in another. Every step can be repeated, so a worker that dies leaves nothing behind: its claim runs out.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { type DnsClient, openCredentials } from '../dns-provider/index.ts';
import type { OrganizationCtx, SystemCtx } from '../kernel/index.ts';
import { clipText } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { bumpServer } from '../server/index.ts';
import { recordFailure } from './record-orders.ts';

/** Longer than all calls of a step take. */
const claimMs = 120_000;
const claimsMax = 20;
const showPauseMs = 3000;
/** Pause after the first, second … failed call in a row; the last one repeats. */
const pausesMs = [5, 15, 60, 300, 3600].map((seconds) => seconds * 1000);
/** Records that can't be removed are given up: their zone or their credentials are gone. */
const removeTimeoutMs = 3 * 24 * 3_600_000;
/** A record that is shown needs no step until its order ends. */
const neverAt = new Date(Date.UTC(9999, 0));

interface ClaimedRecord {
  readonly id: string;
  readonly organizationId: OrganizationId;
  readonly providerId: string;
  readonly zone: string;
  readonly name: string;
  readonly value: string;
  readonly state: 'put' | 'wait' | 'remove';
}

/** Claims the steps that are due. A record whose order has ended is removed; one in a claim is not touched. */
export async function claimDnsRecords({ tx, clock }: SystemCtx): Promise<readonly ClaimedRecord[]> {
  const now = clock.now();
  const rows = await tx.$queryRaw<(Omit<ClaimedRecord, 'organizationId'> & { organizationId: string })[]>`
    WITH due AS (
      SELECT record.id, certificate.id IS NULL AS ended FROM dns_record AS record
      LEFT JOIN certificate ON certificate.id = record.certificate_id AND certificate.attempt = record.attempt
        AND certificate.order_server_id IS NOT NULL
      WHERE record.next_at <= ${now} OR (record.state = 'ready' AND certificate.id IS NULL)
      ORDER BY record.next_at LIMIT ${claimsMax} FOR UPDATE OF record SKIP LOCKED
    )
    UPDATE dns_record SET state = CASE WHEN due.ended THEN 'remove' ELSE state END,
      next_at = ${new Date(now.getTime() + claimMs)}
    FROM due WHERE dns_record.id = due.id
    RETURNING dns_record.id, organization_id AS "organizationId", provider_id AS "providerId", zone, name, value, state`;
  return rows.map((row) => ({ ...row, organizationId: parseId('org', row.organizationId) }));
}

export interface StepResult {
  /** `open`: the zone does not show the record yet. */
  readonly kind: 'done' | 'open' | 'failed';
  /** Sentence for users; for `failed` only. */
  readonly message?: string;
  /** A later attempt may succeed. */
  readonly isTransient?: boolean;
}

export interface DnsStepParts {
  readonly keys: SecretKeys;
  readonly dns: DnsClient;
  /** Runs work in a transaction of the organization. */
  readonly tenant: <T>(organizationId: OrganizationId, work: (ctx: OrganizationCtx) => Promise<T>) => Promise<T>;
}

/** Takes the step of a claimed record. */
export async function advanceDnsRecord(record: ClaimedRecord, { keys, dns, tenant }: DnsStepParts): Promise<void> {
  const { organizationId, providerId } = record;
  const result = await (async (): Promise<StepResult> => {
    if (record.state === 'wait') return { kind: (await dns.isShown(record)) ? 'done' : 'open' };
    const credentials = await tenant(organizationId, (ctx) => openCredentials(ctx, keys, providerId));
    if (credentials === null) return { kind: 'done' };
    const failure = await dns.change(credentials, record.state, record);
    if (failure === null) return { kind: 'done' };
    return { kind: 'failed', message: failure.message, isTransient: failure.code === 'unreachable' };
  })();
  await tenant(organizationId, (ctx) => settle(ctx, record, result));
}

async function settle(ctx: OrganizationCtx, { id, state }: ClaimedRecord, result: StepResult): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const row = await tx.dnsRecord.findFirst({ where: { id, organizationId } });
  if (row === null) return;
  const later = (ms: number) => new Date(now.getTime() + ms);
  if (result.kind === 'failed') {
    const message = clipText(result.message ?? '', 1000);
    if (state === 'remove' && now.getTime() - row.createdAt.getTime() > removeTimeoutMs) {
      ctx.log.error({ dnsRecordId: id, zone: row.zone, name: row.name }, 'a TXT record could not be removed; it stays');
      await tx.dnsRecord.deleteMany({ where: { id, organizationId } });
      return;
    }
    const nextAt = later(pausesMs[Math.min(row.failures, pausesMs.length - 1)] ?? claimMs);
    const data = { failures: row.failures + 1, failureMessage: message, nextAt };
    await tx.dnsRecord.update({ where: { id, organizationId }, data });
    if (state === 'put' && result.isTransient !== true) await failOrder(ctx, row, message);
    return;
  }
  const settled = { failures: 0, failureMessage: null };
  if (state === 'remove') await tx.dnsRecord.deleteMany({ where: { id, organizationId } });
  else if (state === 'put') {
    await tx.dnsRecord.update({ where: { id, organizationId }, data: { ...settled, state: 'wait', nextAt: now } });
  } else if (result.kind === 'open') {
    await tx.dnsRecord.update({ where: { id, organizationId }, data: { ...settled, nextAt: later(showPauseMs) } });
  } else {
    await tx.dnsRecord.update({ where: { id, organizationId }, data: { ...settled, state: 'ready', nextAt: neverAt } });
    await resumeOrder(ctx, row);
  }
}

interface RecordOfOrder {
  readonly certificateId: string;
  readonly attempt: number;
}

/** Tells the agent of the order that the record is in place, by a new version of its desired state. */
async function resumeOrder(ctx: OrganizationCtx, { certificateId, attempt }: RecordOfOrder): Promise<void> {
  const { organizationId } = ctx;
  const where = { id: certificateId, organizationId, attempt, orderServerId: { not: null } };
  const certificate = await ctx.tx.certificate.findFirst({ where, select: { orderServerId: true } });
  if (certificate?.orderServerId) await bumpServer(ctx, certificate.orderServerId);
}

/** The provider refused the record, so the order can't succeed. */
async function failOrder(
  ctx: OrganizationCtx,
  { certificateId, attempt }: RecordOfOrder,
  message: string,
): Promise<void> {
  const { organizationId } = ctx;
  const where = { id: certificateId, organizationId, attempt, orderServerId: { not: null } };
  const certificate = await ctx.tx.certificate.findFirst({ where, select: { id: true, host: true } });
  if (certificate === null) return;
  await recordFailure(ctx, certificate, { code: 'certificate.dns_provider', message, retryAfter: null });
}
