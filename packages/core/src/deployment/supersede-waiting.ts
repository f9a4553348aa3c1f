// Supersedes queued deployments of an app and environment: only the newest request counts. The caller holds the app's
// lock.
import type { Ctx } from '../kernel/index.ts';
import { applyStep } from './apply-step.ts';
import { step } from './machine.ts';
import { findUnfinished, loadMachine } from './store.ts';

interface Superseding {
  readonly appId: string;
  readonly environmentId: string;
  /** The newer deployment, once it has a row. */
  readonly newerId?: string;
  /** The newer deployment awaits approval or checks, and must not withdraw one that awaits neither. */
  readonly keeps: 'none' | 'approved' | 'ready';
}

export async function supersedeWaiting(ctx: Ctx, input: Superseding): Promise<void> {
  const { appId, environmentId, newerId, keeps } = input;
  const waiting = await findUnfinished(ctx, { appId, environmentId }, ['queued']);
  const kept = await findKept(
    ctx,
    waiting.map(({ id }) => id),
    keeps,
  );
  for (const row of waiting) {
    if (row.id === newerId || kept.has(row.id)) continue;
    const { machine } = await loadMachine(ctx, row);
    await applyStep(ctx, row, step(machine, { kind: 'supersede' }, ctx.clock.now()));
  }
}

async function findKept(
  { tx, organizationId }: Ctx,
  ids: readonly string[],
  keeps: Superseding['keeps'],
): Promise<ReadonlySet<string>> {
  if (keeps === 'none') return new Set();
  const isApproved = { approval: { state: 'approved' } };
  const isReady = { OR: [{ approval: null }, isApproved], NOT: { checkWait: { dueAt: { not: null } } } };
  const rows = await tx.deployment.findMany({
    where: { organizationId, id: { in: [...ids] }, ...(keeps === 'ready' ? isReady : isApproved) },
    select: { id: true },
  });
  return new Set(rows.map(({ id }) => id));
}
