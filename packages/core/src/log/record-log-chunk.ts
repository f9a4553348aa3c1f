// Owns the storing of log lines that an agent sends: the object in the store, then its row in the index.
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
  /** The push that carries them; makes the object's key its own. */
  readonly sequence: bigint;
}

const firstLineMax = 1_000_000_000;

/** False, and nothing is stored, when the server has no business with that deployment. */
export async function recordLogChunk(ctx: OrganizationCtx, input: RecordLogChunkInput): Promise<boolean> {
  const { organizationId } = ctx;
  const { serverId, deploymentId, firstLine } = input;
  if (input.lines.length === 0 || firstLine > firstLineMax) return false;
  const deployment = await ctx.tx.deployment.findFirst({
    where: { id: deploymentId, organizationId, app: { placements: { some: { serverId, organizationId } } } },
    select: { id: true },
  });
  if (deployment === null) return false;

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
        lineCount: lines.length,
        objectKey,
        sizeBytes: bytes.length,
        createdAt: ctx.clock.now(),
      },
    ],
    skipDuplicates: true,
  });
  return true;
}
