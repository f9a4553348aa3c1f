// Procedures of apps' logs, which they query from the servers that store them. No transaction is held meanwhile.
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
import { type Scope, wholeOrganization } from '@fairlead/core/role';
import { z } from 'zod';
import type { Access } from '../access.ts';
import type { ApiContext } from '../context.ts';
import { streamWhileAllowed } from '../open-streams.ts';
import { memberStream, router } from '../procedures.ts';
import { byPlacement } from '../scopes.ts';

/** Timeout for a server with many lines; after it, the server is reported as slow. */
const searchTimeoutMs = 20_000;

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
      const { query } = await prepare(ctx, ctx.access, input, false);
      const timeout = AbortSignal.timeout(searchTimeoutMs);
      const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      // The query also holds a stream of the gateway open, until the slowest server has answered.
      const close = await ctx.streams.claim(ctx.access);
      try {
        return await collect(query, ctx.live.searchLogs(query, stop));
      } finally {
        await close();
      }
    }),

  tail: memberStream('log.read')
    .input(tailLogInputSchema)
    .output(batchesSchema)
    .subscription(({ ctx, input, signal }) =>
      streamWhileAllowed<AppLogBatch>(ctx, { path: 'log.tail', signal }, async (side) => {
        const { query, scope } = await prepare(ctx, ctx.access, input, true);
        const items = ctx.live.searchLogs(query, side.signal);
        return { requireStill: (now) => requireLogs(now, scope), items };
      }),
    ),
});

interface Prepared {
  readonly query: AppLogQuery;
  readonly scope: Scope;
}

async function prepare(ctx: ApiContext, access: Access, input: TailLogInput, follow: boolean): Promise<Prepared> {
  const { organizationId } = access;
  return ctx.database.tenant(organizationId, async (tx) => {
    const core = { tx, organizationId, clock: ctx.clock, log: ctx.log };
    const [scope = wholeOrganization] = await byPlacement.find(core, input);
    requireLogs(access, scope);
    return { query: await toLogQuery(core, input, follow), scope };
  });
}

function requireLogs(access: Access, scope: Scope): void {
  if (!access.may('log.read', scope)) throw new AppError('permission.denied', { permission: 'log.read' });
}

/** Collects the lines; a server without any response is reported as one that could not answer. */
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
