// Labels of the states and sources of certificates. Pure.
import type { CertificateSource, CertificateState, CertificateView } from '@fairlead/core/certificate/schema';
import type { Tone } from '@fairlead/ui/state-pill';

export const CERTIFICATE_STATE: Readonly<Record<CertificateState, readonly [Tone, string]>> = {
  waiting: ['idle', 'Waiting'],
  ordering: ['busy', 'Ordering'],
  issued: ['ok', 'Issued'],
  failed: ['bad', 'Failed'],
  expired: ['bad', 'Expired'],
  unused: ['idle', 'Unused'],
};

export const ORDER_STEP: Readonly<Record<NonNullable<CertificateView['step']>, string>> = {
  account: 'Opening the account at the certificate authority.',
  order: 'Placing the order.',
  validate: 'The certificate authority validates the name at this server.',
  issue: 'Receiving the certificate.',
};

export const CERTIFICATE_SOURCE: Readonly<Record<CertificateSource, string>> = {
  acme: 'ACME',
  upload: 'Uploaded',
  local: 'Local CA',
};

const soonMs = 14 * 24 * 3_600_000;

/** Returns tone and label of a certificate; a valid one that will not be renewed in time has a warning. */
export function certificateState(
  { state, source, notAfter, failure }: CertificateFacts,
  now: number,
): readonly [Tone, string] {
  const [tone, label] = CERTIFICATE_STATE[state];
  if (state !== 'issued' || notAfter === null) return [tone, label];
  if (source === 'acme' && failure !== null) return ['warn', 'Renewal failed'];
  if (source === 'upload' && notAfter.getTime() - now <= soonMs) return ['warn', 'Expires soon'];
  return [tone, label];
}

export interface CertificateFacts {
  readonly state: CertificateState;
  readonly source: CertificateSource;
  readonly notAfter: Date | null;
  readonly failure: object | null;
}

/** Returns the days until an end, rounded down, such as "42 days". */
export function formatDaysLeft(notAfter: Date, now: number): string {
  const days = Math.floor((notAfter.getTime() - now) / (24 * 3_600_000));
  if (days < 0) return 'Expired';
  return days === 1 ? '1 day' : `${days} days`;
}
