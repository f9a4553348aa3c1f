// Owns the procedures of apps' logs, which are asked of the servers that keep them. No transaction is held meanwhile.
import type { AppLogBatch, AppLogQuery } from '@fairlead/contract/app-log';
import { AppError } from '@fairlead/core/kernel';
import {
  type LogResult,
  logBatchSchema,
  logResultSchema,
  type TailLogInput,
  tailLogInputSchema,
  toLogQuery,
} from '@fairlead/core/log';
import { wholeOrganization } from '@fairlead/core/role';
import { z } from 'zod';
import { type Access, readAccess } from '../access.ts';
import type { ApiContext } from '../context.ts';
import { toTrpcError } from '../errors.ts';
import { memberStream, router } from '../ladder.ts';
import { byPlacement } from '../scopes.ts';

/** A server that has not answered by then is told to be slow; its lines may be many. */
const searchTimeoutMs = 20_000;
/** How long somebody who lost access may go on watching. */
const recheckMs = 15_000;

const batchesSchema = z
  .custom<AsyncIterable<AppLogBatch>>(
    (value) => typeof value === 'object' && value !== null && Symbol.asyncIterator in value,
    'expected a stream',
  )
  .transform((batches) => checkEach(batches));

export const logRouter = router({
  search: memberStream('log.read')
    .input(tailLogInputSchema)
    .output(logResultSchema)
    .query(async ({ ctx, input, signal }) => {
      const query = await prepare(ctx, ctx.access, input, false);
      const timeout = AbortSignal.timeout(searchTimeoutMs);
      const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      return collect(query, ctx.live.searchLogs(query, stop));
    }),

  tail: memberStream('log.read')
    .input(tailLogInputSchema)
    .output(batchesSchema)
    .subscription(async function* ({ ctx, input, signal }): AsyncGenerator<AppLogBatch, void> {
      const { access } = ctx;
      const ended = new AbortController();
      const stop = AbortSignal.any(signal === undefined ? [ended.signal] : [signal, ended.signal]);
      let timer: NodeJS.Timeout | undefined;
      try {
        const query = await prepare(ctx, access, input, true);
        timer = setInterval(() => {
          readAccess(ctx, access)
            .then((now) => prepare(ctx, now, input, true))
            .catch((error: unknown) => ended.abort(error));
        }, recheckMs);
        yield* ctx.live.searchLogs(query, stop);
        ended.signal.throwIfAborted();
      } catch (error) {
        if (signal?.aborted) return;
        throw toTrpcError(ended.signal.aborted ? ended.signal.reason : error, ctx.log, 'log.tail');
      } finally {
        clearInterval(timer);
        ended.abort();
      }
    }),
});

async function prepare(ctx: ApiContext, access: Access, input: TailLogInput, follow: boolean): Promise<AppLogQuery> {
  const { organizationId } = access;
  return ctx.database.tenant(organizationId, async (tx) => {
    const core = { tx, organizationId, clock: ctx.clock, log: ctx.log };
    const [scope = wholeOrganization] = await byPlacement.find(core, input);
    if (!access.may('log.read', scope)) {
      throw new AppError('permission.denied', { permission: 'log.read' });
    }
    return toLogQuery(core, input, follow);
  });
}

/** A server that said nothing at all is told as one that could not answer. */
async function collect(query: AppLogQuery, batches: AsyncIterable<AppLogBatch>): Promise<LogResult> {
  const result: LogResult = { lines: [], more: false, failures: [] };
  const waiting = new Set<string>(query.serverIds);
  for await (const { serverId, lines, done, more, failure } of batches) {
    result.lines.push(...lines.map((line) => ({ ...line, serverId })));
    result.more ||= more;
    if (failure !== null) result.failures.push({ serverId, sentence: failure });
    if (done || failure !== null) waiting.delete(serverId);
  }
  for (const serverId of query.serverIds) {
    if (waiting.has(serverId)) result.failures.push({ serverId, sentence: 'The server did not answer in time.' });
  }
  result.lines.sort((a, b) => a.unixMs - b.unixMs);
  if (result.lines.length <= query.limit) return result;
  return { ...result, lines: result.lines.slice(-query.limit), more: true };
}

async function* checkEach(batches: AsyncIterable<AppLogBatch>): AsyncGenerator<AppLogBatch, void> {
  for await (const batch of batches) yield logBatchSchema.parse(batch);
}
