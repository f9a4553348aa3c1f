// Owns the shape of searches in apps' logs as they cross the API.
import { appLogBatch, appLogFilter, appLogLine } from '@fairlead/contract/app-log';
import { serverIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { placeSchema } from '../config/schema.ts';

export const tailLogInputSchema = appLogFilter.extend({
  ...placeSchema.shape,
  /** Without it, all servers of the app. */
  serverId: serverIdSchema.optional(),
});
export type TailLogInput = z.infer<typeof tailLogInputSchema>;
export const searchLogInputSchema = tailLogInputSchema;

export const logResultSchema = z.object({
  /** By time, the oldest first. */
  lines: z.array(appLogLine.extend({ serverId: serverIdSchema })),
  /** Older lines that match were left out. */
  more: z.boolean(),
  /** Servers that could not answer, and why. */
  failures: z.array(z.object({ serverId: serverIdSchema, sentence: z.string() })),
});
export type LogResult = z.infer<typeof logResultSchema>;

export const logBatchSchema = appLogBatch;
