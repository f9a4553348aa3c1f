// better-auth as we use it: sessions by email and password or by passkey, and the second step. Only create-auth.ts opens it
// to requests.
import { passkey } from '@better-auth/passkey';
import type { Database } from '@fairlead/db';
import { identityClient } from '@fairlead/db/identity';
import type { Mailer } from '@fairlead/mail';
import { betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import { APIError } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins/two-factor';
import { cookieWords } from './cookies.ts';
import type { GithubIdentity } from './github-identity.ts';
import { openSession } from './open-session.ts';
import { hashPassword, verifyPassword } from './password.ts';

export interface AuthOptions {
  /** Identity has its own tables; it reaches them as the login role, through this database's pool. */
  readonly identity: Database;
  /** Signs cookies and encrypts authenticator secrets. At least 32 characters of good randomness, kept in a file. */
  readonly secret: string;
  /** URL of the dashboard. Passkeys belong to its host. */
  readonly baseUrl: string;
  readonly trustedOrigins: readonly string[];
  /** Origins of further https domains of the dashboard, which may change. Passkeys that are made there belong to their hosts. */
  readonly domainOrigins?: () => readonly string[];
  /** Address for links in mails, without a slash at its end. Default: `baseUrl`. */
  readonly linkUrl?: () => string;
  /**
   * IP addresses and networks of trusted reverse proxies; their X-Forwarded-For is believed. Empty: no proxy is
   * trusted, and attempts are counted together instead of by address.
   */
  readonly trustedProxies: readonly string[];
  /** Null: sign-in with GitHub is off. */
  readonly github: GithubIdentity | null;
  /** Null: mail is not configured, and features that need it return an error. */
  readonly mail: Mailer | null;
  /** Receives failures after the response, such as an unsent mail. It must not log the recipient. */
  readonly onFailure: (error: unknown, what: string) => void;
}

export type Library = ReturnType<typeof buildLibrary>;

export const authPath = '/api/auth';
const passwordLengthMin = 12;
export const passwordLengthMax = 128;
const daySeconds = 24 * 60 * 60;

/** `passkeyUrl`: address of the request; new passkeys belong to its host. */
export function buildLibrary(
  { identity, secret, baseUrl, trustedOrigins, trustedProxies }: AuthOptions,
  passkeyUrl = baseUrl,
) {
  const { prefix, isHttps } = cookieWords(baseUrl);
  const isBehindProxy = trustedProxies.length > 0;
  // The library's lock-out would let a person with the password keep the owner out; sign-in-limit.ts counts instead.
  const secondStep = twoFactor({ issuer: 'Fairlead', accountLockout: { enabled: false } });
  return betterAuth({
    appName: 'Fairlead',
    baseURL: baseUrl,
    basePath: authPath,
    secret,
    trustedOrigins: [...trustedOrigins],
    database: prismaAdapter(identityClient(identity), { provider: 'postgresql' }),
    emailAndPassword: {
      enabled: true,
      // Only core's functions create accounts: the first by the setup token, later ones by invitation.
      disableSignUp: true,
      minPasswordLength: passwordLengthMin,
      maxPasswordLength: passwordLengthMax,
      password: { hash: hashPassword, verify: verifyPassword },
    },
    session: {
      expiresIn: 30 * daySeconds,
      updateAge: daySeconds,
      // Session freshness is checked by requireFresh.
      freshAge: 0,
      additionalFields: {
        confirmedAt: { type: 'date', required: false, input: false },
        lastUsedAt: { type: 'date', required: false, input: false },
        secondFactorAt: { type: 'date', required: false, input: false },
      },
    },
    user: {
      additionalFields: {
        locale: { type: 'string', required: false, input: false },
        timeZone: { type: 'string', required: false, input: false },
      },
    },
    plugins: [
      passkey({
        rpID: new URL(passkeyUrl).hostname,
        rpName: 'Fairlead',
        origin: [...trustedOrigins],
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        advanced: { webAuthnChallengeCookie: 'passkey' },
        registration: {
          afterVerification: ({ verification }) => requireVerifiedPerson(verification.registrationInfo?.userVerified),
        },
        authentication: {
          afterVerification: ({ verification }) => requireVerifiedPerson(verification.authenticationInfo.userVerified),
        },
      }),
      secondStep,
      openSession(secondStep),
    ],
    // Rate limits are in sign-in-limit.ts, which tells known devices from strangers.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: prefix,
      // The library would put `__Secure-` in front, which binds less than the `__Host-` that we put there.
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isHttps },
      ipAddress: isBehindProxy ? { trustedProxies: [...trustedProxies] } : { ipAddressHeaders: [] },
      // Said aloud, because the library would otherwise decide it by NODE_ENV.
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    logger: { level: 'error' },
    telemetry: { enabled: false },
  });
}

/** A passkey counts as two factors only if its device verified a finger, a face or a PIN. */
function requireVerifiedPerson(isVerified: boolean | undefined): Promise<void> {
  if (isVerified !== true) throw new APIError('UNAUTHORIZED', { message: 'the device did not ask who holds it' });
  return Promise.resolve();
}
