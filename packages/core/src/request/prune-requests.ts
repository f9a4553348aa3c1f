// Deletes counts of ended windows, and streams of processes that are gone.
import type { SystemCtx } from '../kernel/index.ts';
import { streamSeenMs } from './open-stream.ts';

export async function pruneRequests({ tx }: Pick<SystemCtx, 'tx'>): Promise<void> {
  await tx.$executeRaw`DELETE FROM call_count WHERE ends_at <= statement_timestamp()`;
  await tx.$executeRaw`
    DELETE FROM open_stream
    WHERE seen_at <= statement_timestamp() - make_interval(secs => ${streamSeenMs}::float8 / 1000)`;
}
