// Runs a failed job of the control plane again.
import { retryFailedJob } from '@fairlead/db';
import { recordAudit } from '../audit/index.ts';
import { AppError } from '../kernel/index.ts';
import { forOperator, type OperatorCtx } from './operator.ts';
import type { RetryJobInput } from './schema.ts';

/** Throws control_plane.job_not_failed if the job runs, waits, or is gone. */
export async function retryJob(ctx: OperatorCtx, { jobId }: RetryJobInput): Promise<{ name: string }> {
  const name = await retryFailedJob(ctx.tx, BigInt(jobId));
  if (name === null) throw new AppError('control_plane.job_not_failed', { jobId });
  await recordAudit(forOperator(ctx), {
    action: 'control_plane.retry_job',
    target: { kind: 'job', id: `job_${jobId}`, label: name },
  });
  return { name };
}
