// Opens the worker's mail transport if a mail server is configured. Invariant: no error contains the server's password.
import { readFile } from 'node:fs/promises';
import { createMailer, type Mailer } from '@fairlead/mail';
import type { WorkerEnv } from './env.ts';

/**
 * Returns null when no mail server is configured: reminders then show in the dashboard only. Throws on incomplete
 * settings.
 */
export async function openMailer(env: WorkerEnv): Promise<Mailer | null> {
  const file = env.FAIRLEAD_SMTP_URL_FILE;
  const url = file === undefined ? env.FAIRLEAD_SMTP_URL : (await readFile(file, 'utf8')).trim();
  if (url === undefined) return null;
  if (env.FAIRLEAD_MAIL_FROM === undefined) throw new Error('FAIRLEAD_MAIL_FROM is missing: a mail needs a sender');
  return createMailer({ url, from: env.FAIRLEAD_MAIL_FROM });
}
