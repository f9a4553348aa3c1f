// Polls a condition of another process that emits no event.
import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  readonly what: string;
  readonly timeoutMs: number;
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
}

/** Calls `probe` until it returns something other than undefined or false. */
export async function waitFor<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions,
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    options.signal?.throwIfAborted();
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) {
      throw new Error(`${options.what} did not happen within ${Math.round(options.timeoutMs / 1000)} s`);
    }
    await delay(options.everyMs ?? 100, undefined, options.signal ? { signal: options.signal } : {});
  }
}

/** True if `url` responds with 2xx or 3xx. */
export async function answers(url: string, timeoutMs = 2000): Promise<boolean> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.status >= 200 && response.status < 400;
  } catch {
    return false; // the server is not listening yet
  }
}
