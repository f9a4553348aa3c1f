// Schemas of a page of a deployment's log, and of searches in apps' logs.

import { appLogBatch, appLogFilter, appLogLine } from '@fairlead/contract/app-log';
import { deploymentIdSchema, serverIdSchema } from '@fairlead/contract/ids';
import { logLine } from '@fairlead/contract/live';
import { z } from 'zod';
import { placementInputSchema } from '../placement/schema.ts';

export const numberedLineSchema = logLine.extend({
  /** Counts from 0 over the whole deployment. */
  number: z.number().int(),
});
export type NumberedLine = z.infer<typeof numberedLineSchema>;

export const readLogInputSchema = z.object({
  deploymentId: deploymentIdSchema,
  fromLine: z.number().int().min(0).max(1_000_000_000).default(0),
  limit: z.number().int().min(1).max(5000).default(1000),
});
export type ReadLogInput = z.infer<typeof readLogInputSchema>;

export const logPageSchema = z.object({
  lines: z.array(numberedLineSchema),
  /** Ask for this line next. */
  nextLine: z.number().int(),
  /** Lines stored so far. */
  totalLines: z.number().int(),
  /** The deployment is over and every stored line is in `lines` or before it. */
  complete: z.boolean(),
});
export type LogPage = z.infer<typeof logPageSchema>;

export const tailLogInputSchema = appLogFilter.extend({
  ...placementInputSchema.shape,
  /** Without it, all servers of the app. */
  serverId: serverIdSchema.optional(),
});
export type TailLogInput = z.infer<typeof tailLogInputSchema>;

export const logResultSchema = z.object({
  /** Lines in order of time, the oldest first. */
  lines: z.array(appLogLine.extend({ serverId: serverIdSchema })),
  /** Older lines that match were left out. */
  more: z.boolean(),
  /** Servers that could not answer, with the reason. */
  failures: z.array(z.object({ serverId: serverIdSchema, sentence: z.string() })),
});
export type LogResult = z.infer<typeof logResultSchema>;

export const logBatchSchema = appLogBatch;
