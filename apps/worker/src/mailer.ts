// How this process sends mail, when whoever runs it told how. Must never put the server's password into an error.
import { readFile } from 'node:fs/promises';
import { createMailer, type Mailer } from '@fairlead/mail';
import type { WorkerEnv } from './env.ts';

/** Null: no mail server is named, and reminders stand in the dashboard only. Half a setting is an error. */
export async function openMailer(env: WorkerEnv): Promise<Mailer | null> {
  const file = env.FAIRLEAD_SMTP_URL_FILE;
  const url = file === undefined ? env.FAIRLEAD_SMTP_URL : (await readFile(file, 'utf8')).trim();
  if (url === undefined) return null;
  if (env.FAIRLEAD_MAIL_FROM === undefined) throw new Error('FAIRLEAD_MAIL_FROM is missing: a mail needs a sender');
  return createMailer({ url, from: env.FAIRLEAD_MAIL_FROM });
}
