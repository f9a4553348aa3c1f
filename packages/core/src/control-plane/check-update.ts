// Records a check for a newer release that an operator requested.
import { recordAudit } from '../audit/index.ts';
import {
  type FeedCheck,
  getUpdate,
  recordUpdateCheck,
  type UpdateFacts,
  type UpdateOverview,
} from '../fairlead-update/index.ts';
import { forOperator, type OperatorCtx } from './operator.ts';

export async function checkUpdate(ctx: OperatorCtx, facts: UpdateFacts, found: FeedCheck): Promise<UpdateOverview> {
  await recordUpdateCheck(ctx, found);
  await recordAudit(forOperator(ctx), {
    action: 'control_plane.check_update',
    target: { kind: 'control_plane', id: 'control_plane', label: facts.feed ?? '' },
    after: { version: found.release?.version ?? null, failure: found.failure },
  });
  return getUpdate(ctx, facts);
}
