// The worker's settings, read once from the environment and checked. Nothing else reads process.env.
import { commonEnv, parseEnv } from '@fairlead/core/kernel';
import { z } from 'zod';

const schema = z.object({
  ...commonEnv,
  FAIRLEAD_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  FAIRLEAD_SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  FAIRLEAD_SMTP_URL_FILE: z.string().min(1).optional(),
  FAIRLEAD_MAIL_FROM: z.string().min(3).max(320).optional(),
});

type WorkerEnv = z.infer<typeof schema>;

/** Throws one error that names every missing or invalid setting, never its value. */
export function readEnv(source: NodeJS.ProcessEnv): WorkerEnv {
  return parseEnv(schema, source);
}
