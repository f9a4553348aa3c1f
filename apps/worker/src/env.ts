// The worker's settings, read once from the environment and checked. Nothing else reads process.env.
import { z } from 'zod';

const schema = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  FAIRLEAD_LOG_STORE_DIR: z.string().min(1),
  // Default: a folder beside the logs.
  FAIRLEAD_ARTIFACT_STORE_DIR: z.string().min(1).optional(),
  FAIRLEAD_MASTER_KEY_FILE: z.string().min(1),
  FAIRLEAD_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  FAIRLEAD_SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  FAIRLEAD_SMTP_URL_FILE: z.string().min(1).optional(),
  FAIRLEAD_MAIL_FROM: z.string().min(3).max(320).optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
});

export type WorkerEnv = z.infer<typeof schema>;

/** Throws one error that names every missing or invalid setting, never its value. */
export function readEnv(source: NodeJS.ProcessEnv): WorkerEnv {
  const parsed = schema.safeParse(source);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`the environment is not complete: ${problems.join('; ')}`);
}
