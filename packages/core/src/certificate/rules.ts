// Times of orders and renewals, and which hosts get a public certificate. Pure.

const minuteMs = 60_000;
/** Pause after the first, second … failure in a row; the last one repeats. */
const pausesMs = [1, 5, 15, 60, 4 * 60, 12 * 60].map((minutes) => minutes * minuteMs);

/** Failures that every order repeats until their cause is gone, although the authority issues a certificate each time. */
const lastingCodes: readonly string[] = ['certificate.clock'];

/** Returns how long a failure counts as one in a row: a lasting one has the longest pause at once. */
export function failuresOf(code: string, failures: number): number {
  return lastingCodes.includes(code) ? pausesMs.length : failures;
}

/** Returns the earliest time of another order. `retryAfter` is the time that the authority demands. */
export function nextAttemptAt(failures: number, retryAfter: Date | null, now: Date): Date {
  const pauseMs = pausesMs[Math.min(failures, pausesMs.length) - 1] ?? minuteMs;
  return new Date(Math.max(now.getTime() + pauseMs, retryAfter?.getTime() ?? 0));
}

/**
 * Returns the earliest time of another order after a success: an agent may report that the authority wants a renewal at once.
 * It is an hour, or a tenth of a short lifetime.
 */
export function afterIssue(notBefore: Date, notAfter: Date, now: Date): Date {
  const tenthMs = (notAfter.getTime() - notBefore.getTime()) / 10;
  return new Date(now.getTime() + Math.min(60 * minuteMs, Math.max(tenthMs, minuteMs)));
}

/** Returns the time of renewal: the one that the authority wants (RFC 9773), or two thirds of the lifetime. */
export function renewalTime(notBefore: Date, notAfter: Date, wanted: Date | null): Date {
  if (wanted !== null && wanted > notBefore && wanted < notAfter) return wanted;
  return twoThirds(notBefore, notAfter);
}

/** Returns the renewal time of a new certificate. It is in the future even if the clock here is ahead, so that renewals end. */
export function firstRenewalTime(notBefore: Date, notAfter: Date, wanted: Date | null, now: Date): Date {
  const renewAt = renewalTime(notBefore, notAfter, wanted);
  return renewAt > now ? renewAt : twoThirds(now, notAfter);
}

function twoThirds(from: Date, to: Date): Date {
  return new Date(from.getTime() + ((to.getTime() - from.getTime()) * 2) / 3);
}

/** Tolerance for the clock of an authority. */
const clockSkewMs = 60 * minuteMs;

/** Returns true if a new certificate is not valid yet, or no longer, by the clock of the control plane. */
export function isClockWrong(notBefore: Date, notAfter: Date, now: Date): boolean {
  return notBefore.getTime() > now.getTime() + clockSkewMs || notAfter <= now;
}

export type Challenge = 'http-01' | 'dns-01' | 'tls-alpn-01';

export interface ChallengeFacts {
  readonly host: string;
  /** DNS provider of the host's zone; null: none. */
  readonly zone: { readonly preferred: boolean } | null;
  /** A connected server of the host can prove it by DNS-01 and TLS-ALPN-01. */
  readonly canProve: boolean;
  /** Challenge of the last order. */
  readonly last: Challenge;
  /** Code of the last order's failure; null: it succeeded, or there was none. */
  readonly failureCode: string | null;
}

/** Returns the challenge of the next order; null if only a DNS provider could prove the host. */
export function chooseChallenge({ host, zone, canProve, last, failureCode }: ChallengeFacts): Challenge | null {
  const canUseDns = zone !== null && canProve;
  if (isWildcard(host)) return canUseDns ? 'dns-01' : null;
  if (!canProve) return 'http-01';
  if (canUseDns && zone.preferred) return 'dns-01';
  const order: readonly Challenge[] = ['http-01', 'tls-alpn-01', ...(canUseDns ? (['dns-01'] as const) : [])];
  const at = Math.max(order.indexOf(last), 0);
  // A challenge that worked is used again; one that could not be reached gives way to the next.
  const next = failureCode === 'certificate.unreachable' ? at + 1 : at;
  return order[next % order.length] ?? 'http-01';
}

/** Returns true if another challenge is tried at once: the authority could not reach the first one. */
export function isOtherChallengeDue(challenge: string, code: string, failures: number): boolean {
  return code === 'certificate.unreachable' && challenge === 'http-01' && failures === 0;
}

export function isWildcard(host: string): boolean {
  return host.startsWith('*.');
}

/** Returns the name that an authority validates: a wildcard's own name without its first label (RFC 8555, 7.1.4). */
export function validatedName(host: string): string {
  return isWildcard(host) ? host.slice(2) : host;
}

/**
 * `waiting`: no order yet. `ordering`: one runs. `failed`: none was issued, and the last order failed. `unused`: an
 * uploaded certificate serves its host.
 */
export const certificateStates = ['waiting', 'ordering', 'issued', 'failed', 'expired', 'unused'] as const;

/** `attention`: failed, expired, or an upload that expires within 14 days. */
export const certificateFilters = ['attention', ...certificateStates] as const;
export type CertificateFilter = (typeof certificateFilters)[number];
