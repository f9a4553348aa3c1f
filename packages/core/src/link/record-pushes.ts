// Records an agent's pushes. Each is stored once, even if it is sent again after a lost connection; the acknowledged
// sequence moves in the same transaction.
import type { Frame, LogChunk, Push } from '@fairlead/contract/agent';
import { LogStream } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import type { LogLine } from '@fairlead/contract/live';
import { AppError, clipText, forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { findLogSlot, type LogStore, recordLogChunk } from '../log/index.ts';
import { recordFrames } from '../metric/index.ts';

export interface RecordPushesInput {
  readonly serverId: string;
  readonly pushes: readonly Push[];
  /** Agent clock minus ours. */
  readonly clockOffsetMs: number;
  readonly store: LogStore;
}

export interface RecordedPushes {
  /** Up to here everything is stored; for the acknowledgement after the commit. */
  readonly acked: bigint;
  /** New frames that this server may report; for watchers, after the commit. */
  readonly frames: readonly Frame[];
  readonly logs: readonly LogChunk[];
}

const sequenceMax = 2n ** 63n - 1n;
// The agent cuts lines at half of that.
const textLengthMax = 8192;
const stepLengthMax = 40;

/**
 * Drops data that belongs to another server. Throws link.malformed on data that no agent sends and link.server_unknown
 * if the server was deleted.
 */
export async function recordPushes(ctx: SystemCtx, input: RecordPushesInput): Promise<RecordedPushes> {
  const { serverId } = input;
  // Two connections of one agent may overlap. The lock is separate, because deployments lock the server's row too.
  await ctx.tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`push:${serverId}`}, 0))`;
  const server = await ctx.tx.server.findUnique({
    where: { id: serverId },
    select: { organizationId: true, pushAckedSequence: true },
  });
  if (server === null) throw new AppError('link.server_unknown', { serverId });
  const acked = server.pushAckedSequence;
  const fresh = input.pushes.filter((push) => push.sequence > acked);
  if (fresh.length === 0) return { acked, frames: [], logs: [] };

  const scope = forOrganization(ctx, parseId('org', server.organizationId));
  let highest = acked;
  const frames: Frame[] = [];
  const logs: LogChunk[] = [];
  for (const push of fresh) {
    if (push.sequence > sequenceMax) throw new AppError('link.malformed', { field: 'sequence' });
    if (push.sequence > highest) highest = push.sequence;
    if (push.body.case === 'frame') frames.push(push.body.value);
    if (push.body.case === 'log' && (await recordLog(scope, input, push.sequence, push.body.value))) {
      const { deploymentId, firstLine } = push.body.value;
      // Watchers number lines as the store does.
      const slot = (await findLogSlot(scope, { serverId, deploymentId })) ?? 0;
      logs.push({ ...push.body.value, firstLine: firstLine + BigInt(slot) });
    }
  }
  const { clockOffsetMs } = input;
  const stored = frames.length > 0 ? await recordFrames(scope, { serverId, frames, clockOffsetMs }) : [];
  await ctx.tx.server.update({ where: { id: serverId }, data: { pushAckedSequence: highest }, select: { id: true } });
  return { acked: highest, frames: stored, logs };
}

async function recordLog(
  ctx: OrganizationCtx,
  input: RecordPushesInput,
  sequence: bigint,
  chunk: LogChunk,
): Promise<boolean> {
  const { serverId, store, clockOffsetMs } = input;
  const { deploymentId } = chunk;
  const firstLine = Number(chunk.firstLine);
  const lines = chunkLines(chunk, clockOffsetMs);
  const stored = await recordLogChunk(ctx, { store, serverId, deploymentId, firstLine, lines, sequence });
  if (stored) return true;
  const fields = { serverId, deploymentId, firstLine, lines: lines.length };
  ctx.log.warn(
    fields,
    'log lines were dropped: their deployment is foreign or long over, its log is full, or the disk is',
  );
  return false;
}

/** The chunk's lines as watchers and the store have them, dated by our clock. */
export function chunkLines(chunk: LogChunk, clockOffsetMs: number): LogLine[] {
  return chunk.lines.map((line) => ({
    unixMs: Math.max(0, Number(line.unixMs) - clockOffsetMs),
    step: clipText(line.step, stepLengthMax),
    stream: streamNames[line.stream] ?? 'system',
    text: clipText(line.text, textLengthMax),
  }));
}

// An unknown, newer stream is shown as Fairlead's own output.
const streamNames: Readonly<Record<number, LogLine['stream']>> = {
  [LogStream.STDOUT]: 'stdout',
  [LogStream.STDERR]: 'stderr',
};
