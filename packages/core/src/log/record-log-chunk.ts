// Stores an agent's log lines: the object in the store, then its row in the index.
import { newId } from '@fairlead/contract/ids';
import type { LogLine } from '@fairlead/contract/live';
import type { OrganizationCtx } from '../kernel/index.ts';
import { encodeLogLines } from './codec.ts';
import type { LogStore } from './store.ts';

export interface RecordLogChunkInput {
  readonly store: LogStore;
  readonly serverId: string;
  readonly deploymentId: string;
  /** Counts from 0 over the whole deployment. */
  readonly firstLine: number;
  /** Clipped already: what is stored is what watchers saw. */
  readonly lines: readonly LogLine[];
  /** Sequence of the push that carries them; makes the object's key unique. */
  readonly sequence: bigint;
}

// An agent ends a log at 50 000 lines; the rest is for its final messages.
const lineNumberMax = 60_000;
// Chunks may overlap after a restart of the agent, but not for ever: each is an object on our disk.
const storedLinesMax = 2 * lineNumberMax;
const storedBytesMax = 64 * 1024 * 1024;
// Maximum time that an agent without a link may keep its lines.
const lateMaxMs = 24 * 60 * 60_000;

/** Offset between the lines of two servers: no server's numbers reach that far. */
const slotLines = 100_000;

/**
 * Each server of a deployment counts its own lines from 0. In the deployment's log, those of the build server (or of
 * the first one) come first. Null: the server is not part of the deployment.
 */
export async function findLogSlot(
  ctx: OrganizationCtx,
  { serverId, deploymentId }: Pick<RecordLogChunkInput, 'serverId' | 'deploymentId'>,
): Promise<number | null> {
  const { organizationId } = ctx;
  const deployment = await ctx.tx.deployment.findFirst({
    where: {
      id: deploymentId,
      organizationId,
      OR: [
        { buildServerId: serverId },
        { servers: { some: { serverId } } },
        { app: { placements: { some: { servers: { some: { serverId, organizationId } } } } } },
      ],
    },
    select: { buildServerId: true, servers: { select: { serverId: true }, orderBy: { position: 'asc' } } },
  });
  if (deployment === null) return null;
  const ids = deployment.servers.map((each) => each.serverId);
  const first = deployment.buildServerId ?? ids[0] ?? serverId;
  if (first === serverId) return 0;
  return (1 + Math.max(0, ids.indexOf(serverId))) * slotLines;
}

/**
 * False, and nothing is stored, when the server has no business with that deployment, the deployment is over for long, its
 * log is full, or the disk is nearly full.
 */
export async function recordLogChunk(ctx: OrganizationCtx, input: RecordLogChunkInput): Promise<boolean> {
  const { organizationId } = ctx;
  const { serverId, deploymentId } = input;
  const { length } = input.lines;
  if (length === 0 || input.firstLine < 0 || input.firstLine + length > lineNumberMax) return false;
  const slot = await findLogSlot(ctx, input);
  if (slot === null) return false;
  const firstLine = slot + input.firstLine;
  const now = ctx.clock.now();
  const deployment = await ctx.tx.deployment.findFirst({
    where: {
      id: deploymentId,
      organizationId,
      OR: [{ finishedAt: null }, { finishedAt: { gt: new Date(now.getTime() - lateMaxMs) } }],
    },
    select: { id: true },
  });
  if (deployment === null) return false;
  // Before the object is written: its key holds the sequence, so the same lines again would be another object.
  const known = await ctx.tx.logChunk.findUnique({
    where: { deploymentId_firstLine: { deploymentId, firstLine } },
    select: { id: true },
  });
  if (known !== null) return true;
  const stored = await ctx.tx.logChunk.aggregate({
    where: { organizationId, deploymentId },
    _sum: { lineCount: true, sizeBytes: true },
  });
  if ((stored._sum.lineCount ?? 0) + length > storedLinesMax) return false;
  if ((stored._sum.sizeBytes ?? 0) > storedBytesMax) return false;

  if (!(await input.store.hasRoom())) return false;

  const { lines } = input;
  const bytes = await encodeLogLines(lines);
  // The object first: an index row must never point at nothing. An object without a row is overwritten by the retry.
  const objectKey = `${organizationId}/${deploymentId}/${String(firstLine).padStart(10, '0')}-${serverId}-${input.sequence}.json.zst`;
  await input.store.put(objectKey, bytes);
  await ctx.tx.logChunk.createMany({
    data: [
      {
        id: newId('lgc'),
        organizationId,
        deploymentId,
        firstLine,
        lineCount: length,
        objectKey,
        sizeBytes: bytes.length,
        createdAt: now,
      },
    ],
    skipDuplicates: true,
  });
  return true;
}
