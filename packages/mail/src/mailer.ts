// Sends mail by SMTP.
// Invariant: it never logs a mail, because its links open accounts; no error contains the server's password.
import { readFile } from 'node:fs/promises';
import { createTransport } from 'nodemailer';
import { toHtml, toText } from './body.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain sentences, a paragraph each. */
  readonly paragraphs: readonly string[];
  /** The one thing to do, as a button and as a plain address. */
  readonly action?: { readonly label: string; readonly url: string };
}

export interface Mailer {
  /** Resolves when the server has taken the mail; rejects when it did not. */
  send(mail: Mail): Promise<void>;
}

const mailErrorBrand = Symbol.for('fairlead.MailError');

/** A mail that the server did not take. Its message is a sentence for people who operate the control plane. */
export class MailError extends Error {
  override readonly name = 'MailError';

  get [mailErrorBrand](): true {
    return true;
  }

  /** A bundler may load this module twice in one process, and an error of either copy is one of ours. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && mailErrorBrand in value;
  }
}

interface MailerOptions {
  /** smtp://user:password@host:587 or smtps://…; its password is a secret. */
  readonly url: string;
  /** The sender, for example "Fairlead <fairlead@example.com>". */
  readonly from: string;
}

export function createMailer(options: MailerOptions): Mailer {
  const transport = createTransport(options.url, { from: options.from });
  return {
    send: async (mail) => {
      const message = {
        to: mail.to,
        subject: mail.subject,
        text: toText(mail),
        html: toHtml(mail),
        disableFileAccess: true,
        disableUrlAccess: true,
      };
      await transport.sendMail(message).catch((error: unknown) => {
        // Without the cause: it quotes the server's reply unredacted.
        throw new MailError(explain(error, new URL(options.url)));
      });
    },
  };
}

/** Tells what failed in a sentence with the server's reply, which a server may have filled with the password. */
function explain(error: unknown, url: URL): string {
  const { message, response } = error as { readonly message: string; readonly response?: string };
  const sentence =
    response === undefined
      ? `The mail server ${url.host} could not be reached: ${message}.`
      : `The mail server ${url.host} rejected the mail: ${response}`;
  return secretsOf(url).reduce((text, secret) => text.replaceAll(secret, '…'), sentence);
}

/** Returns the password in each form that the SMTP dialogue has it. */
function secretsOf(url: URL): string[] {
  if (url.password === '') return [];
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return [base64(`\0${user}\0${password}`), base64(password), url.password, password];
}

interface MailSettings {
  readonly FAIRLEAD_SMTP_URL?: string | undefined;
  /** File with the URL; it counts before the URL itself. */
  readonly FAIRLEAD_SMTP_URL_FILE?: string | undefined;
  readonly FAIRLEAD_MAIL_FROM?: string | undefined;
}

/** Returns null when no mail server is configured; features that need mail report it. Throws on incomplete settings. */
export async function openMailer(settings: MailSettings): Promise<Mailer | null> {
  const file = settings.FAIRLEAD_SMTP_URL_FILE;
  const url = file === undefined ? settings.FAIRLEAD_SMTP_URL : await readUrl(file);
  if (url === undefined) return null;
  const from = settings.FAIRLEAD_MAIL_FROM;
  if (from === undefined) throw new Error('FAIRLEAD_MAIL_FROM is missing: a mail needs a sender');
  return createMailer({ url, from });
}

async function readUrl(file: string): Promise<string> {
  const url = (await readFile(file, 'utf8')).trim();
  if (url === '') throw new Error(`${file} is empty`);
  return url;
}
