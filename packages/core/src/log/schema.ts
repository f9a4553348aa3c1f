// Owns the shape of a page of a deployment's log.
import { deploymentIdSchema } from '@fairlead/contract/ids';
import { logLine } from '@fairlead/contract/live';
import { z } from 'zod';

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
