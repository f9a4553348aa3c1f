// Enqueues events of scenarios. Their job is in the feature benchmark-event, because it deploys.
import { parseId } from '@fairlead/contract/ids';
import { benchmarkEventJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';

/** Enqueues the events of a run that are due. */
export async function enqueueEvents({ tx, organizationId }: OrganizationCtx, runId: string): Promise<void> {
  await enqueue(tx, benchmarkEventJob, { organizationId, runId: parseId('run', runId) });
}
