// Settings that every process of the control plane has, and the check of an environment.
import { z } from 'zod';

export const commonEnv = {
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  FAIRLEAD_MASTER_KEY_FILE: z.string().min(1),
  FAIRLEAD_LOG_STORE_DIR: z.string().min(1),
  // Default: a folder beside the logs.
  FAIRLEAD_ARTIFACT_STORE_DIR: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
};

/** Throws one error that names every missing or invalid setting, never its value. */
export function parseEnv<Schema extends z.ZodType>(
  schema: Schema,
  source: Readonly<Record<string, string | undefined>>,
): z.infer<Schema> {
  const parsed = schema.safeParse(source);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`the environment is not complete: ${problems.join('; ')}`);
}
