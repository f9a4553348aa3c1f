// Records a test email in the audit log, whether the mail server took it or not.
import { recordAudit } from '../audit/index.ts';
import { forOperator, type OperatorCtx } from './operator.ts';

export async function recordTestMail(
  ctx: OperatorCtx,
  { to, failure }: { readonly to: string; readonly failure: string | null },
): Promise<void> {
  await recordAudit(forOperator(ctx), {
    action: 'control_plane.send_test_mail',
    target: { kind: 'user', id: ctx.actor.userId, label: to },
    after: { failure },
  });
}
