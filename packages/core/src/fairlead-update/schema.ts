// Schemas of updates of the control plane.
import { z } from 'zod';
import { versionSchema } from './versions.ts';

/** `interrupted`: its process ended, such as in a power cut. */
export const updateStateSchema = z.enum(['running', 'succeeded', 'failed', 'rolled_back', 'interrupted']);
export const updateStepSchema = z.enum(['fetch', 'prepare', 'back_up', 'start', 'roll_back']);

export const lastUpdateSchema = z.object({
  from: z.string(),
  /** Empty if the request was refused before its version was known. */
  to: z.string(),
  state: updateStateSchema,
  step: updateStepSchema,
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  /** Last lines of the updater. */
  log: z.array(z.string()),
});
export type LastUpdate = z.infer<typeof lastUpdateSchema>;

export const updateOverviewSchema = z.object({
  /** Version that runs. */
  current: z.string(),
  /** Folder or address of releases; null: no check for updates. */
  feed: z.string().nullable(),
  /** `clone`: a clone of the repository has no release to replace. */
  method: z.enum(['button', 'command', 'clone']),
  checkedAt: z.date().nullable(),
  /** Reason why the last check failed. */
  checkFailure: z.string().nullable(),
  /** Newest release, if it is newer than the running one. */
  available: z.object({ version: z.string(), releasedAt: z.date(), changelog: z.string() }).nullable(),
  /** True while a request waits for the updater. */
  isRequested: z.boolean(),
  last: lastUpdateSchema.nullable(),
});
export type UpdateOverview = z.infer<typeof updateOverviewSchema>;

export const startUpdateInputSchema = z.object({ version: versionSchema });
export type StartUpdateInput = z.infer<typeof startUpdateInputSchema>;
