// Counts of calls by one caller in a window, for all processes that share the database.
import type { SystemCtx } from '../kernel/index.ts';

export interface CallClaim {
  readonly key: string;
  readonly calls: number;
  readonly callsMax: number;
  readonly windowMs: number;
}

export interface ClaimedCalls {
  /** Lower than requested if the window has no more. */
  readonly granted: number;
  readonly windowEndsInMs: number;
}

/** Takes calls out of the caller's window; the first claim after a window ended begins the next one. */
export async function claimCalls({ tx }: Pick<SystemCtx, 'tx'>, claim: CallClaim): Promise<ClaimedCalls> {
  const { key, calls, callsMax, windowMs } = claim;
  const [row] = await tx.$queryRaw<{ total: number; endsInMs: number }[]>`
    INSERT INTO call_count AS known (key, calls, ends_at)
    VALUES (${key}, ${calls}, statement_timestamp() + make_interval(secs => ${windowMs}::float8 / 1000))
    ON CONFLICT (key) DO UPDATE SET
      calls = CASE WHEN known.ends_at <= statement_timestamp() THEN excluded.calls
        ELSE least(known.calls::bigint + excluded.calls, 2147483647)::int END,
      ends_at = CASE WHEN known.ends_at <= statement_timestamp() THEN excluded.ends_at ELSE known.ends_at END
    RETURNING calls AS total, (extract(epoch FROM ends_at - statement_timestamp()) * 1000)::float8 AS "endsInMs"`;
  if (row === undefined) throw new Error('counting calls returned no row');
  const left = callsMax - (row.total - calls);
  return { granted: Math.min(calls, Math.max(0, left)), windowEndsInMs: Math.max(1, row.endsInMs) };
}
