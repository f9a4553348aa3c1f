// Sends mail by SMTP.
// Invariant: it never logs a mail, because its links open accounts.
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

export interface MailerOptions {
  /** smtp://user:password@host:587 or smtps://…; its password is a secret. */
  readonly url: string;
  /** The sender, for example "Fairlead <fairlead@example.com>". */
  readonly from: string;
}

export function createMailer(options: MailerOptions): Mailer {
  const transport = createTransport(options.url, { from: options.from });
  return {
    send: async (mail) => {
      await transport.sendMail({
        to: mail.to,
        subject: mail.subject,
        text: toText(mail),
        html: toHtml(mail),
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    },
  };
}
