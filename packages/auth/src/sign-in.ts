// Sign-in by password, then a code of an authenticator app if there is one, or by passkey. Every way ends in
// `welcome`, which remembers the device and reports an unknown one to the person.
import { z } from 'zod';
import { recordEvent } from './account-event.ts';
import { cookieWords, readCookie } from './cookies.ts';
import { deviceName } from './device-name.ts';
import { recordFactorProof } from './factor-proof.ts';
import { answer, readJson, refuse, withBody, withoutBody } from './http.ts';
import { type Internals, originOf, pageUrl, sendLater } from './internals.ts';
import { authPath, passwordLengthMax } from './library.ts';
import { newDeviceMail } from './mails.ts';
import { hashPassword, isOutdated } from './password.ts';
import type { Guesser } from './sign-in-limit.ts';

const smallBodyBytesMax = 4096;
export const passkeyBodyBytesMax = 32 * 1024;
const wrong = 401;
const minuteMs = 60_000;
/** Longer than a code can be right: 30 seconds, and as much before and after. */
export const codeLifeMs = 2 * minuteMs;
// Limits for strangers, a minute. The common one leaves most of a core free, because each attempt costs a slow hash.
const attemptsMax = { byAddress: 20, together: 300 };

const passwordBody = z.object({ email: z.email().max(254), password: z.string().min(1).max(passwordLengthMax) });
const codeBodies = {
  '/two-factor/verify-totp': z.object({ code: z.string().regex(/^\d{6}$/) }),
  '/two-factor/verify-backup-code': z.object({ code: z.string().regex(/^[0-9A-Za-z]{5}-[0-9A-Za-z]{5}$/) }),
} as const;
export type CodePath = keyof typeof codeBodies;

const base64Url = z
  .string()
  .max(16_384)
  .regex(/^[\w-]+$/);
const passkeyBody = z.object({
  response: z.object({
    id: base64Url,
    rawId: base64Url,
    type: z.literal('public-key'),
    response: z.object({
      clientDataJSON: base64Url,
      authenticatorData: base64Url,
      signature: base64Url,
      userHandle: base64Url.nullish().transform((handle) => handle ?? undefined),
    }),
    clientExtensionResults: z.object({}).default({}),
  }),
});

export async function signInByPassword(internals: Internals, request: Request): Promise<Response> {
  const body = passwordBody.safeParse(await readJson(request, smallBodyBytesMax));
  if (!body.success) return refuse('input.invalid');
  const { limit, client, library } = internals;
  const account = body.data.email.toLowerCase();
  const known = await client().user.findUnique({ where: { email: account }, select: { id: true } });
  const guesser = await guesserOf(internals, request.headers, account, known?.id ?? null);
  if (!(await mayTry(internals, guesser)) || !(await limit.begin(guesser))) return refuse('request.too_many');

  const path = `${authPath}/sign-in/email`;
  const stored = known === null ? null : await findPassword(internals, known.id);
  const response = await library().handler(withBody(request, path, { ...body.data, email: account }));
  if (response.status === wrong) return refuse('session.credentials_wrong');
  if (!response.ok || known === null) {
    await limit.withdraw(guesser);
    return response.ok ? refuse('session.credentials_wrong') : response;
  }
  const result = (await response.json()) as { token?: string; twoFactorRedirect?: boolean };
  if (stored === null || !(await isStillPassword(internals, stored))) {
    await client().session.deleteMany({ where: { userId: known.id, token: result.token ?? '' } });
    await client().verification.deleteMany({ where: { value: known.id } });
    return refuse('session.credentials_wrong');
  }
  await limit.succeed(guesser);
  await renewHash(internals, stored, body.data.password);
  if (result.twoFactorRedirect === true) return answer({ needsCode: true }, response);
  return welcome(internals, request.headers, known.id, response);
}

/** Second step of a sign-in; the cookie of the first step identifies the person. */
export async function signInByCode(internals: Internals, request: Request, path: CodePath): Promise<Response> {
  const body = codeBodies[path].safeParse(await readJson(request, smallBodyBytesMax));
  if (!body.success) return refuse('session.code_wrong');
  const { limit, client, library, options } = internals;
  const name = `${cookieWords(options.baseUrl).prefix}.two_factor`;
  const cookie = readCookie(request.headers, name);
  const step = cookie === null ? null : await findStep(internals, cookie);
  if (cookie === null || step === null) return refuse('session.step_expired');
  const guesser = await guesserOf(internals, request.headers, step.userId, step.userId);
  if (!(await limit.begin(guesser))) return refuse('request.too_many');
  // A code works once (RFC 6238, section 5.2), also within its half minute.
  const isNew = await limit.spend(`code ${step.userId} ${body.data.code}`, 1, codeLifeMs);
  if (!isNew) return refuse('session.code_wrong');

  // Nothing but the step's cookie: with a session the library would check a code for that one instead.
  const alone = `${name}=${encodeURIComponent(cookie)}`;
  const response = await library().handler(withBody(request, `${authPath}${path}`, body.data, alone));
  if (!response.ok) {
    const { code } = (await response.json()) as { code?: string };
    if (response.status === wrong && code !== 'INVALID_TWO_FACTOR_COOKIE') return refuse('session.code_wrong');
    await limit.withdraw(guesser);
    return refuse('session.step_expired');
  }
  await limit.succeed(guesser);
  const { token } = (await response.json()) as { token: string };
  await recordFactorProof(internals, { token });
  if (path === '/two-factor/verify-backup-code') {
    await recordEvent(client(), step.userId, 'recovery_code_used', originOf(internals, request.headers));
  }
  return welcome(internals, request.headers, step.userId, response);
}

/** Returns a fresh challenge. With a session, it allows that person's passkeys only. */
export async function passkeyOptions(internals: Internals, request: Request): Promise<Response> {
  const address = originOf(internals, request.headers).ip;
  const isAllowed = await internals.limit.spend(
    `passkey ${address ?? 'unknown'}`,
    address === null ? attemptsMax.together : attemptsMax.byAddress,
    minuteMs,
  );
  if (!isAllowed && !(await internals.devices.isKnown(request.headers))) return refuse('request.too_many');
  const response = await internals
    .library(request.headers)
    .handler(withoutBody(request, `${authPath}/passkey/generate-authenticate-options`));
  if (!response.ok) return refuse('session.passkey_refused');
  return answer({ ...((await response.json()) as object), userVerification: 'required' }, response);
}

/** Never counted: a signature cannot be guessed, so strangers cannot close this way in. */
export async function signInByPasskey(internals: Internals, request: Request): Promise<Response> {
  const verified = await verifyPasskey(internals, request);
  if (verified === null) return refuse('session.passkey_refused');
  await recordFactorProof(internals, { id: verified.sessionId });
  return welcome(internals, request.headers, verified.userId, verified.response);
}

export interface VerifiedPasskey {
  readonly userId: string;
  readonly sessionId: string;
  /** Response of the library, with the cookie of the new session. */
  readonly response: Response;
}

export async function verifyPasskey(internals: Internals, request: Request): Promise<VerifiedPasskey | null> {
  const body = passkeyBody.safeParse(await readJson(request, passkeyBodyBytesMax));
  if (!body.success) return null;
  const path = `${authPath}/passkey/verify-authentication`;
  const response = await internals.library(request.headers).handler(withBody(request, path, body.data));
  if (!response.ok) return null;
  const { session } = (await response.json()) as { session: { id: string; userId: string } };
  const where = { credentialID: body.data.response.id, userId: session.userId };
  const { count } = await internals.client().passkey.updateMany({ where, data: { lastUsedAt: new Date() } });
  if (count === 0) {
    // It was removed while it signed in: the session may be younger than those that the removal ended.
    await internals.client().session.deleteMany({ where: { id: session.id } });
    return null;
  }
  return { userId: session.userId, sessionId: session.id, response };
}

/** Ends every way to sign in. */
export async function welcome(
  internals: Internals,
  headers: Headers,
  userId: string,
  from: Response,
  cookies: readonly string[] = [],
): Promise<Response> {
  const { client, devices } = internals;
  const { cookie, isNew } = await devices.remember(headers, userId);
  const origin = originOf(internals, headers);
  await recordEvent(client(), userId, isNew ? 'signed_in_new_device' : 'signed_in', origin);
  if (isNew) {
    const { email } = await client().user.findUniqueOrThrow({ where: { id: userId }, select: { email: true } });
    const mail = newDeviceMail(email, deviceName(origin.userAgent), origin.ip, pageUrl(internals, '/account'));
    sendLater(internals, mail);
  }
  return answer({ needsCode: false }, from, [cookie, ...cookies]);
}

export async function guesserOf(
  internals: Internals,
  headers: Headers,
  account: string,
  userId: string | null,
): Promise<Guesser> {
  const deviceId = userId === null ? null : await internals.devices.find(headers, userId);
  return { account, deviceId, address: originOf(internals, headers).ip };
}

/**
 * True if strangers of this address, or without one all strangers together, have attempts left for all accounts. Known
 * devices have their own limits.
 */
async function mayTry({ limit }: Internals, { deviceId, address }: Guesser): Promise<boolean> {
  if (deviceId !== null) return true;
  const max = address === null ? attemptsMax.together : attemptsMax.byAddress;
  return limit.spend(`strangers from ${address ?? 'unknown'}`, max, minuteMs);
}

async function findStep({ client }: Internals, cookie: string): Promise<{ userId: string } | null> {
  // The library signs its cookies: what stands before the last dot is the random name of the step.
  const identifier = cookie.slice(0, Math.max(cookie.lastIndexOf('.'), 0));
  const where = { identifier, expiresAt: { gt: new Date() } };
  const row = await client().verification.findFirst({ where, select: { value: true } });
  return row === null ? null : { userId: row.value };
}

interface KeptPassword {
  readonly id: string;
  readonly hash: string;
}

async function findPassword({ client }: Internals, userId: string): Promise<KeptPassword | null> {
  const where = { userId, providerId: 'credential' };
  const account = await client().account.findFirst({ where, select: { id: true, password: true } });
  return typeof account?.password === 'string' ? { id: account.id, hash: account.password } : null;
}

/**
 * Reports whether the password is what it was before it was compared. Comparing is slow, and a change that overtakes it ends
 * the sessions before this one begins. The lock waits for a change that has yet to commit.
 */
async function isStillPassword({ client }: Internals, { id, hash }: KeptPassword): Promise<boolean> {
  const rows = await client().$queryRaw<{ id: string }[]>`
    SELECT id FROM account WHERE id = ${id} AND password = ${hash} FOR SHARE`;
  return rows.length > 0;
}

/** Rehashes an outdated hash, because only a sign-in has the password itself. */
async function renewHash({ client }: Internals, { id, hash }: KeptPassword, password: string): Promise<void> {
  if (!isOutdated(hash)) return;
  const renewed = await hashPassword(password);
  // Only in place of the one that was just proven: the password may have been changed meanwhile.
  await client().account.updateMany({ where: { id, password: hash }, data: { password: renewed } });
}
