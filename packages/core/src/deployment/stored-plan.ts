// Owns the form in which a release keeps what its builder detected and what a committed file of the app says.
import { z } from 'zod';

const process = z.object({
  name: z.string(),
  command: z.array(z.string()),
  instances: z.number().int(),
  memoryBytesMax: z.number().default(0),
  cpuMillisMax: z.number().default(0),
});

export const storedPlanSchema = z.object({
  /** What was detected and decided, a sentence each. */
  sentences: z.array(z.string()).default([]),
  workers: z.array(process).default([]),
  toolchains: z.array(z.string()).default([]),
  releaseCommand: z.array(z.string()).default([]),
});
export type StoredPlan = z.infer<typeof storedPlanSchema>;
