// Starts an update of the control plane: checks that it is possible and records it. The caller then writes the request.
import { recordAudit } from '../audit/index.ts';
import { getUpdate, type StartUpdateInput, type UpdateFacts } from '../fairlead-update/index.ts';
import { AppError } from '../kernel/index.ts';
import { forOperator, type OperatorCtx } from './operator.ts';

/** Throws control_plane.update_unavailable, control_plane.update_other_version and control_plane.update_running. */
export async function startUpdate(
  ctx: OperatorCtx,
  facts: UpdateFacts,
  { version }: StartUpdateInput,
): Promise<{ folder: string }> {
  const { updaterFolder } = facts;
  const { method, available, isRequested, last } = await getUpdate(ctx, facts);
  if (updaterFolder === null || method !== 'button') throw new AppError('control_plane.update_unavailable');
  if (isRequested || last?.state === 'running') throw new AppError('control_plane.update_running');
  // A page that was open for long, or a repeated request, names another one.
  if (available?.version !== version) throw new AppError('control_plane.update_other_version', { version });
  await recordAudit(forOperator(ctx), {
    action: 'control_plane.start_update',
    target: { kind: 'control_plane', id: 'control_plane', label: version },
    before: { version: facts.current },
    after: { version },
  });
  return { folder: updaterFolder };
}
