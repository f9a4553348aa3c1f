// Schemas of a person's own account: the data of its page and the inputs of its forms.
import { githubAppIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { isLocale, isTimeZone } from '../kernel/region.ts';
import { nameSchema } from '../kernel/text.ts';

export const passwordSchema = z
  .string()
  .min(12, 'Choose a password of at least 12 characters.')
  .max(128, 'A password has at most 128 characters.');
/** One that is to be checked, not chosen. */
const typedPasswordSchema = z.string().min(1, 'Type your password.').max(128, 'A password has at most 128 characters.');
export const emailSchema = z.email('Enter an email address.').max(254).toLowerCase();
const tokenSchema = z.string().trim().min(1).max(200);
const libraryIdSchema = z.string().min(1).max(100);

export const passkeySchema = z.object({
  id: z.string(),
  name: z.string(),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
  /** True if stored in a password manager or an account, so that it outlives its device. */
  isSynced: z.boolean(),
});

export const accountSchema = z.object({
  name: z.string(),
  email: z.string(),
  /** Null: the browser's. */
  locale: z.string().nullable(),
  timeZone: z.string().nullable(),
  isEmailVerified: z.boolean(),
  hasSecondFactor: z.boolean(),
  recoveryCodesLeft: z.number().int(),
  /** True if this control plane can send mail. */
  canMail: z.boolean(),
  passkeys: z.array(passkeySchema),
});

export const githubAccountSchema = z.object({
  githubAppId: githubAppIdSchema,
  appName: z.string(),
  /** Host of GitHub. */
  host: z.string(),
  /** Login at GitHub; null: not linked. */
  login: z.string().nullable(),
  linkedAt: z.date().nullable(),
  lastUsedAt: z.date().nullable(),
  /** True if the link signs the person in. */
  signsIn: z.boolean(),
});
export const githubLinkRefSchema = z.object({ githubAppId: githubAppIdSchema });
export const githubReturnSchema = z.object({ state: z.string().min(1).max(200), code: z.string().min(1).max(300) });

export const accountSessionSchema = z.object({
  id: z.string(),
  device: z.string(),
  ip: z.string().nullable(),
  createdAt: z.date(),
  lastUsedAt: z.date(),
  isThis: z.boolean(),
});

export const accountEventSchema = z.object({
  id: z.string(),
  kind: z.string(),
  at: z.date(),
  ip: z.string().nullable(),
  device: z.string(),
  detail: z.string().nullable(),
});

/** Locale without extensions that Intl has data for, such as `de-DE`. */
const localeSchema = z.string().max(35).refine(isLocale, 'Choose a language and region from the list.');
/** IANA name of a time zone. */
const timeZoneSchema = z.string().max(64).refine(isTimeZone, 'Choose a time zone from the list.');

/** A missing field stays as it is; null is the browser's. */
export const updateAccountInputSchema = z.object({
  name: nameSchema.optional(),
  locale: localeSchema.nullable().optional(),
  timeZone: timeZoneSchema.nullable().optional(),
});
export const confirmInputSchema = z.object({ password: typedPasswordSchema });
export const updatePasswordInputSchema = z.object({ current: typedPasswordSchema, next: passwordSchema });
export const emailInputSchema = z.object({ email: emailSchema });
export const sessionRefSchema = z.object({ sessionId: libraryIdSchema });
export const passkeyRefSchema = z.object({ passkeyId: libraryIdSchema });
export const updatePasskeyInputSchema = passkeyRefSchema.extend({ name: nameSchema });
export const twoFactorSetupSchema = z.object({ uri: z.string(), secret: z.string() });
export const codeInputSchema = z.object({
  code: z
    .string()
    .transform((code) => code.replaceAll(/\s/g, ''))
    .pipe(z.string().regex(/^\d{6}$/, 'A code has six digits.')),
});
/** Six digits of the authenticator app, or a recovery code. */
export const factorCodeInputSchema = z.object({
  code: z
    .string()
    .transform((code) => code.replaceAll(/\s/g, ''))
    .pipe(z.string().regex(/^(\d{6}|[0-9A-Za-z]{5}-[0-9A-Za-z]{5})$/, 'Enter six digits or a recovery code.')),
});
export const recoveryCodesSchema = z.object({ codes: z.array(z.string()) });
export const linkInputSchema = z.object({ token: tokenSchema });
export const resetPasswordInputSchema = z.object({ token: tokenSchema, password: passwordSchema });
