// Records what an agent reports about its orders. A chain is accepted only if it is for the host and the key of its
// order, and is valid now.
import { X509Certificate } from 'node:crypto';
import { type CertificateStatus, WorkState } from '@fairlead/contract/agent';
import { isId } from '@fairlead/contract/ids';
import { clipText, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import { recordOutcome, timeOf } from './budget.ts';
import { recordEvent } from './history.ts';
import { readPublicKey } from './keys.ts';
import { recordProofs } from './proofs.ts';
import { renewalInfoPauseMs } from './renewal-info.ts';
import {
  afterIssue,
  failuresOf,
  firstRenewalTime,
  isClockWrong,
  isOtherChallengeDue,
  isWildcard,
  nextAttemptAt,
} from './rules.ts';
import { bumpServersOfHost, deleteKey, noOrder } from './store.ts';

const chainBytesMax = 64 * 1024;
const chainLengthMax = 10;
const dayMs = 24 * 3_600_000;
/** The limit of public authorities is 398 days. */
const lifetimeMaxMs = 400 * dayMs;
/** Maximum pause that an agent may report as its authority's wish. */
const retryAfterMaxMs = 7 * dayMs;
const steps = ['account', 'order', 'validate', 'issue'];

export interface RecordOrdersInput {
  readonly serverId: string;
  readonly statuses: readonly CertificateStatus[];
  /** Version of desired state that the server serves. */
  readonly applied: { readonly number: bigint };
}

export async function recordOrders(ctx: OrganizationCtx, input: RecordOrdersInput): Promise<void> {
  await confirmResponder(ctx, input);
  for (const status of input.statuses) {
    if (isId('crt', status.certificateId)) await recordOrder(ctx, input.serverId, status);
  }
}

interface OrderRow {
  readonly id: string;
  readonly host: string;
  readonly attempt: number;
  readonly step: string | null;
  readonly challenge: string;
  readonly proofs: unknown;
  readonly keyId: string | null;
  readonly orderKeyId: string;
  readonly publicKey: Uint8Array;
}

async function recordOrder(ctx: OrganizationCtx, serverId: string, status: CertificateStatus): Promise<void> {
  const { tx, organizationId } = ctx;
  const [row] = await tx.$queryRaw<OrderRow[]>`
    SELECT certificate.id, host, attempt, step, challenge, proofs, key_id AS "keyId", order_key_id AS "orderKeyId", certificate_key.public_key AS "publicKey"
    FROM certificate JOIN certificate_key ON certificate_key.id = certificate.order_key_id
    WHERE certificate.id = ${status.certificateId} AND certificate.organization_id = ${organizationId}
      AND order_server_id = ${serverId} AND attempt = ${status.attempt} FOR UPDATE OF certificate`;
  if (row === undefined) return;
  if (status.state === WorkState.RUNNING) {
    if (status.proofs.length > 0) await recordProofs(ctx, row, status.proofs);
    if (!steps.includes(status.step) || status.step === row.step) return;
    await tx.certificate.update({ where: { id: row.id, organizationId }, data: { step: status.step } });
    await notifyChange(ctx, { kind: 'certificate', id: row.id });
    return;
  }
  const issued = status.state === WorkState.SUCCEEDED ? readChain(ctx, status, row) : null;
  if (issued !== null && !isClockWrong(issued.leaf.validFromDate, issued.leaf.validToDate, ctx.clock.now()))
    return recordIssued(ctx, row, issued);
  if (issued !== null) return recordFailure(ctx, row, clockFailure(ctx, issued.leaf));
  await recordFailure(ctx, row, {
    code: clipText(status.failure?.code ?? '', 100) || 'certificate.invalid_chain',
    message:
      clipText(status.failure?.message ?? '', 1000) ||
      'The server reported a certificate that is not valid for this host and key. The order is tried again.',
    retryAfter: earlier(dateOf(status.retryAfterUnixMs), new Date(ctx.clock.now().getTime() + retryAfterMaxMs)),
  });
}

interface IssuedChain {
  readonly chain: Uint8Array<ArrayBuffer>[];
  readonly leaf: X509Certificate;
  readonly renewAt: Date;
}

function readChain(ctx: OrganizationCtx, status: CertificateStatus, row: OrderRow): IssuedChain | null {
  const bytes = status.chainDer.reduce((sum, der) => sum + der.length, 0);
  if (status.chainDer.length === 0 || status.chainDer.length > chainLengthMax || bytes > chainBytesMax) return null;
  try {
    const certificates = status.chainDer.map((der) => new X509Certificate(der));
    const [leaf] = certificates;
    if (leaf === undefined || !isFor(leaf, row.host)) return null;
    if (!leaf.publicKey.equals(readPublicKey(row.publicKey))) return null;
    if (!isChain(certificates, status.chainDer) || !isShort(leaf)) return null;
    const wanted = dateOf(status.renewUnixMs);
    const renewAt = firstRenewalTime(leaf.validFromDate, leaf.validToDate, wanted, ctx.clock.now());
    return { chain: status.chainDer.map((der) => new Uint8Array(der)), leaf, renewAt };
  } catch (error) {
    ctx.log.warn({ err: error, certificateId: row.id }, 'an agent reported a chain that cannot be read');
    return null;
  }
}

function isFor(leaf: X509Certificate, host: string): boolean {
  // A wildcard is a name of its own, which stands for no other wildcard.
  if (isWildcard(host)) return leaf.subjectAltName?.toLowerCase().split(', ').includes(`dns:${host}`) === true;
  return leaf.checkHost(host, { subject: 'never' }) !== undefined;
}

/** True for DER in which each certificate is issued by the next; an authority never sends a leaf that signs itself. */
function isChain(certificates: readonly X509Certificate[], chainDer: readonly Uint8Array[]): boolean {
  const [leaf] = certificates;
  if (leaf === undefined || leaf.checkIssued(leaf)) return false;
  return certificates.every((certificate, at) => {
    const issuer = certificates[at + 1];
    return (
      certificate.raw.equals(chainDer[at] ?? Buffer.alloc(0)) &&
      (issuer?.publicKey === undefined || certificate.verify(issuer.publicKey))
    );
  });
}

/** An agent may lie about its chain; no public authority issues for longer. */
function isShort({ validFromDate, validToDate }: X509Certificate): boolean {
  return validToDate.getTime() - validFromDate.getTime() <= lifetimeMaxMs;
}

function clockFailure({ clock }: OrganizationCtx, { validFromDate, validToDate }: X509Certificate): OrderFailure {
  const [from, to, now] = [validFromDate, validToDate, clock.now()].map(timeOf);
  const message = `The authority issued a certificate from ${from} to ${to}, but the clock of the control plane says ${now}. Set the clock that is wrong, then order the certificate again.`;
  return { code: 'certificate.clock', message, retryAfter: null };
}

async function recordIssued(ctx: OrganizationCtx, row: OrderRow, { chain, leaf, renewAt }: IssuedChain): Promise<void> {
  await ctx.tx.certificate.update({
    where: { id: row.id, organizationId: ctx.organizationId },
    data: {
      chain,
      keyId: row.orderKeyId,
      issuer: issuerOf(leaf),
      notBefore: leaf.validFromDate,
      notAfter: leaf.validToDate,
      renewAt,
      renewalInfoAt: new Date(ctx.clock.now().getTime() + renewalInfoPauseMs),
      ...noOrder,
      failureCode: null,
      failureMessage: null,
      failedAt: null,
      failures: 0,
      nextAttemptAt: afterIssue(leaf.validFromDate, leaf.validToDate, ctx.clock.now()),
      remindedDays: null,
    },
  });
  await recordEvent(ctx, { certificateId: row.id }, { kind: row.keyId === null ? 'issued' : 'renewed' });
  await recordOutcome(ctx, row.host, 'issued');
  await deleteKey(ctx, row.keyId);
  await bumpServersOfHost(ctx, row.host);
  await notifyChange(ctx, { kind: 'certificate', id: row.id });
}

/** Returns the organization and common name of the issuer, as far as it has them. */
export function issuerOf(leaf: X509Certificate): string {
  const fields = new Map(
    leaf.issuer.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return clipText([fields.get('O'), fields.get('CN')].filter((part) => part !== undefined).join(' '), 200);
}

export interface OrderFailure {
  readonly code: string;
  readonly message: string;
  readonly retryAfter: Date | null;
}

/** Ends an order that failed and schedules the next. A certificate that was issued before stays in use. */
export async function recordFailure(
  ctx: OrganizationCtx,
  { id, host }: { readonly id: string; readonly host: string },
  failure: OrderFailure,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const { failures, orderKeyId, challenge, account } = await tx.certificate.findUniqueOrThrow({
    where: { id, organizationId },
    select: { failures: true, orderKeyId: true, challenge: true, account: { select: { downSince: true } } },
  });
  const { code } = failure;
  const isAtOnce =
    isOtherChallengeDue(challenge, code, failures) || (code === 'certificate.account_revoked' && failures === 0);
  const nextAt = isAtOnce ? now : nextAttemptAt(failuresOf(code, failures + 1), failure.retryAfter, now);
  const isLimited = code === 'certificate.rate_limited';
  const addition = isLimited
    ? ` The next order is at ${timeOf(nextAt)}.`
    : code === 'certificate.authority_unreachable' && account.downSince !== null
      ? ` It has not answered since ${timeOf(account.downSince)}.`
      : '';
  await tx.certificate.update({
    where: { id, organizationId },
    data: {
      ...noOrder,
      failureCode: code,
      failureMessage: `${failure.message}${addition}`,
      failedAt: now,
      failures: failures + 1,
      nextAttemptAt: nextAt,
    },
  });
  await recordEvent(ctx, { certificateId: id }, { kind: 'failed', detail: `${failure.message}${addition}` });
  await recordOutcome(ctx, host, code, isLimited ? failure.retryAfter : null);
  await deleteKey(ctx, orderKeyId);
  await bumpServersOfHost(ctx, host);
  await notifyChange(ctx, { kind: 'certificate', id });
}

/** Notes that a server answers challenges of the orders that wait for it, and starts those that wait for no other. */
async function confirmResponder(ctx: OrganizationCtx, { serverId, applied }: RecordOrdersInput): Promise<void> {
  const rows = await ctx.tx.$queryRaw<{ orderServerId: string }[]>`
    UPDATE certificate SET unready_servers = unready_servers - ${serverId}
    WHERE organization_id = ${ctx.organizationId} AND jsonb_exists(unready_servers, ${serverId})
      AND (unready_servers ->> ${serverId})::bigint <= ${applied.number}
    RETURNING order_server_id AS "orderServerId"`;
  for (const orderServerId of new Set(rows.map((row) => row.orderServerId))) await bumpServer(ctx, orderServerId);
}

function earlier(date: Date | null, limit: Date): Date | null {
  return date !== null && date > limit ? limit : date;
}

function dateOf(unixMs: bigint): Date | null {
  // Later dates are no times that an authority names.
  return unixMs > 0n && unixMs < 32_503_680_000_000n ? new Date(Number(unixMs)) : null;
}
