// Reads a deployment's stored log, page by page.
import { AppError, type Ctx } from '../kernel/index.ts';
import { decodeLogLines } from './codec.ts';
import type { LogPage, NumberedLine, ReadLogInput } from './schema.ts';
import type { LogStore } from './store.ts';

const finishedStates: ReadonlySet<string> = new Set(['live', 'failed', 'cancelled', 'superseded']);

/** A page of a deployment's stored lines. Lines that are lost (a spool that overflowed) leave a gap in the numbers. */
export async function readLog(ctx: Ctx, input: ReadLogInput, store: LogStore): Promise<LogPage> {
  const { organizationId } = ctx;
  const { deploymentId, fromLine, limit } = input;
  const deployment = await ctx.tx.deployment.findFirst({
    where: { id: deploymentId, organizationId },
    select: { state: true },
  });
  if (deployment === null) throw new AppError('deployment.not_found', { deploymentId });
  const last = await ctx.tx.logChunk.findFirst({
    where: { deploymentId, organizationId },
    select: { firstLine: true, lineCount: true },
    orderBy: { firstLine: 'desc' },
  });
  const totalLines = last === null ? 0 : last.firstLine + last.lineCount;
  const chunks = await ctx.tx.$queryRaw<{ firstLine: number; objectKey: string }[]>`
    SELECT first_line AS "firstLine", object_key AS "objectKey" FROM log_chunk
    WHERE organization_id = ${organizationId} AND deployment_id = ${deploymentId}
      AND first_line + line_count > ${fromLine}
    ORDER BY first_line LIMIT ${limit}`;

  const lines: NumberedLine[] = [];
  let nextLine = fromLine;
  for (const chunk of chunks) {
    if (lines.length >= limit) break;
    const bytes = await store.get(chunk.objectKey);
    if (bytes === null) {
      ctx.log.error({ deploymentId, objectKey: chunk.objectKey }, 'a log object is missing');
      continue;
    }
    for (const [index, line] of (await decodeLogLines(bytes)).entries()) {
      const number = chunk.firstLine + index;
      // Chunks may overlap after a reconnect: a line counts once.
      if (number < nextLine || lines.length >= limit) continue;
      lines.push({ ...line, number });
      nextLine = number + 1;
    }
  }
  // No readable line is left before the end: the reader must not request the gap for ever.
  if (lines.length === 0) nextLine = Math.max(fromLine, totalLines);
  return {
    lines,
    nextLine,
    totalLines,
    complete: finishedStates.has(deployment.state) && nextLine >= totalLines,
  };
}
