// Opens the web process's mail transport if a mail server is configured.
import { createMailer, type Mailer } from '@fairlead/mail';
import type { WebEnv } from './env.ts';
import { readSecret } from './read-secret.ts';

type MailEnv = Pick<WebEnv, 'FAIRLEAD_SMTP_URL' | 'FAIRLEAD_SMTP_URL_FILE' | 'FAIRLEAD_MAIL_FROM'>;

/** Returns null when no mail server is configured; features that need mail report it. Throws on incomplete settings. */
export async function openMailer(env: MailEnv): Promise<Mailer | null> {
  const file = env.FAIRLEAD_SMTP_URL_FILE;
  const url = file === undefined ? env.FAIRLEAD_SMTP_URL : await readSecret(file);
  if (url === undefined) return null;
  if (env.FAIRLEAD_MAIL_FROM === undefined) {
    throw new Error('FAIRLEAD_MAIL_FROM is missing: a mail needs a sender');
  }
  return createMailer({ url, from: env.FAIRLEAD_MAIL_FROM });
}
