// Reads renewal windows of certificates from authorities (ARI, RFC 9773) until their renewal is due. An authority that revokes a
// certificate moves its window to an earlier time.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { notifyChange, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { renewalIdentifier } from './renewal-identifier.ts';
import { renewalTime } from './rules.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Time after which another worker repeats the request of one that died. */
const leaseMs = 10 * minuteMs;
const dueMax = 50;
/** Default pause between two requests, and the bounds of the pause that the authority asks for. */
export const renewalInfoPauseMs = 6 * hourMs;
const pauseMinMs = minuteMs;
const pauseMaxMs = 24 * hourMs;

export interface DueRenewalInfo {
  readonly organizationId: OrganizationId;
  readonly certificateId: string;
  readonly directoryUrl: string;
  readonly identifier: string;
}

/** Claims the certificates with a request that is due. */
export async function claimRenewalInfo({ tx, clock }: SystemCtx): Promise<readonly DueRenewalInfo[]> {
  const now = clock.now();
  const rows = await tx.$queryRaw<
    { organizationId: string; certificateId: string; directoryUrl: string; leaf: Uint8Array }[]
  >`
    UPDATE certificate SET renewal_info_at = ${new Date(now.getTime() + leaseMs)}
    FROM (
      SELECT certificate.id, acme_account.directory_url FROM certificate
      JOIN acme_account ON acme_account.id = certificate.account_id
      WHERE certificate.key_id IS NOT NULL AND order_server_id IS NULL AND renew_at > ${now}
        AND (renewal_info_at IS NULL OR renewal_info_at <= ${now})
      ORDER BY renewal_info_at NULLS FIRST LIMIT ${dueMax} FOR UPDATE OF certificate SKIP LOCKED
    ) AS due
    WHERE certificate.id = due.id
    RETURNING organization_id AS "organizationId", certificate.id AS "certificateId", due.directory_url AS "directoryUrl",
              chain[1] AS leaf`;
  return rows.flatMap(({ organizationId, leaf, ...row }) => {
    const identifier = renewalIdentifier(leaf);
    return identifier === null ? [] : [{ ...row, organizationId: parseId('org', organizationId), identifier }];
  });
}

export interface RenewalInfo {
  readonly start: Date;
  readonly end: Date;
  /** Pause that the authority asks for (Retry-After); null: none. */
  readonly retryAfterMs: number | null;
}

export interface RecordRenewalInfo {
  readonly certificateId: string;
  readonly identifier: string;
  /** Null: the authority names no window, or did not answer. */
  readonly info: RenewalInfo | null;
}

/** Moves the renewal to the middle of the authority's window, or to now if that has passed. */
export async function recordRenewalInfo(
  ctx: OrganizationCtx,
  { certificateId: id, identifier, info }: RecordRenewalInfo,
): Promise<void> {
  const { tx, organizationId, clock } = ctx;
  const row = await tx.certificate.findFirst({ where: { id, organizationId } });
  const [leaf] = row?.chain ?? [];
  // The certificate was renewed in the meantime: the answer is about another one.
  if (row === null || leaf === undefined || renewalIdentifier(leaf) !== identifier) return;
  const { notBefore, notAfter, renewAt: before } = row;
  if (notBefore === null || notAfter === null || before === null) return;
  const now = clock.now();
  const wishMs = info?.retryAfterMs ?? renewalInfoPauseMs;
  const pauseMs = Math.min(Math.max(wishMs, pauseMinMs), pauseMaxMs);
  const renewalInfoAt = new Date(now.getTime() + pauseMs);
  const middle = info === null ? null : new Date((info.start.getTime() + info.end.getTime()) / 2);
  const isPast = middle !== null && middle <= now;
  const renewAt = middle === null ? before : isPast ? now : renewalTime(notBefore, notAfter, middle);
  // Leaves out a renewal that commits now.
  await tx.certificate.updateMany({
    where: { id, organizationId, keyId: row.keyId },
    data: { renewAt, renewalInfoAt },
  });
  if (renewAt.getTime() !== before.getTime()) await notifyChange(ctx, { kind: 'certificate', id });
}
