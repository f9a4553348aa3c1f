// Owns the shape of log lines as they are stored and read.
import { z } from 'zod';
import { deploymentIdSchema } from '../kernel/ids.ts';

export const logStreamSchema = z.enum(['system', 'stdout', 'stderr']);
export type LogStreamName = z.infer<typeof logStreamSchema>;

export const logLineSchema = z.object({
  /** From 0, without gaps over the whole deployment. */
  number: z.number().int(),
  at: z.date(),
  step: z.string(),
  stream: logStreamSchema,
  text: z.string(),
});
export type LogLineView = z.infer<typeof logLineSchema>;

export const readLogInputSchema = z.object({
  deploymentId: deploymentIdSchema,
  fromLine: z.number().int().min(0).default(0),
  limit: z.number().int().min(1).max(5000).default(1000),
});
export type ReadLogInput = z.infer<typeof readLogInputSchema>;

export const logPageSchema = z.object({
  lines: z.array(logLineSchema),
  /** Ask for this line next. */
  nextLine: z.number().int(),
  /** Lines stored so far. */
  totalLines: z.number().int(),
  /** The deployment is over and every line is in `lines` or before it. */
  complete: z.boolean(),
});
export type LogPage = z.infer<typeof logPageSchema>;
