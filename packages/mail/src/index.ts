export { createMailer, type Mail, type Mailer, type MailerOptions } from './mailer.ts';
