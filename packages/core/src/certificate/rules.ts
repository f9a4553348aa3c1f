// Times of orders and renewals, and which hosts get a public certificate. Pure.

const minuteMs = 60_000;
/** Pause after the first, second … failure in a row; the last one repeats. */
const pausesMs = [1, 5, 15, 60, 4 * 60, 12 * 60].map((minutes) => minutes * minuteMs);

/** Returns the earliest time of another order. `retryAfter` is the time that the authority demands. */
export function nextAttemptAt(failures: number, retryAfter: Date | null, now: Date): Date {
  const pauseMs = pausesMs[Math.min(failures, pausesMs.length) - 1] ?? minuteMs;
  return new Date(Math.max(now.getTime() + pauseMs, retryAfter?.getTime() ?? 0));
}

/** Returns the time of renewal: the one that the authority wants (RFC 9773), or two thirds of the lifetime. */
export function renewalTime(notBefore: Date, notAfter: Date, wanted: Date | null): Date {
  if (wanted !== null && wanted > notBefore && wanted < notAfter) return wanted;
  const lifetimeMs = notAfter.getTime() - notBefore.getTime();
  return new Date(notBefore.getTime() + (lifetimeMs * 2) / 3);
}

/** Tells if a certificate authority can issue for a host: names below `localhost` mean each machine itself. */
export function isPublicHost(host: string): boolean {
  return host !== 'localhost' && !host.endsWith('.localhost');
}
