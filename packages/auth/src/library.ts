// better-auth as we use it: sessions by e-mail and password, nothing else. Only create-auth.ts opens it to requests.
import type { Database } from '@fairlead/db';
import { identityClient } from '@fairlead/db/identity';
import type { Mailer } from '@fairlead/mail';
import { betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import { twoFactor } from 'better-auth/plugins/two-factor';

export interface AuthOptions {
  /** Identity has its own tables; it reaches them as the login role, through this database's pool. */
  readonly identity: Database;
  /** Signs cookies. At least 32 characters of good randomness, kept in a file. */
  readonly secret: string;
  /** Where browsers reach the dashboard. */
  readonly baseUrl: string;
  readonly trustedOrigins: readonly string[];
  /**
   * IP addresses and networks of the reverse proxies in front, whose X-Forwarded-For is believed. Empty: nobody's is, and
   * attempts are counted together instead of by address.
   */
  readonly trustedProxies: readonly string[];
  /** Null: nobody set up mail, and what needs it says so. */
  readonly mail: Mailer | null;
  /** Told of what failed after its request was answered, such as a mail. Must not log who it was for. */
  readonly onFailure: (error: unknown, what: string) => void;
}

export const authPath = '/api/auth';
const passwordLengthMin = 12;
export const passwordLengthMax = 128;
const daySeconds = 24 * 60 * 60;
// Per minute. Together: what still leaves most of a core free, because each attempt costs a slow hash.
const attemptsMax = { byAddress: 20, together: 300 };

export function buildLibrary({ identity, secret, baseUrl, trustedOrigins, trustedProxies }: AuthOptions) {
  const isHttps = baseUrl.startsWith('https:');
  const isBehindProxy = trustedProxies.length > 0;
  return betterAuth({
    appName: 'Fairlead',
    baseURL: baseUrl,
    basePath: authPath,
    secret,
    trustedOrigins: [...trustedOrigins],
    database: prismaAdapter(identityClient(identity), { provider: 'postgresql' }),
    emailAndPassword: {
      enabled: true,
      // Accounts are made by core's verbs only: the first by the setup token, later ones by invitation.
      disableSignUp: true,
      minPasswordLength: passwordLengthMin,
      maxPasswordLength: passwordLengthMax,
    },
    session: {
      expiresIn: 30 * daySeconds,
      updateAge: daySeconds,
      additionalFields: { confirmedAt: { type: 'date', required: false, input: false } },
    },
    rateLimit: {
      enabled: true,
      storage: 'database',
      window: 60,
      max: 300,
      customRules: {
        '/sign-in/email': { window: 60, max: isBehindProxy ? attemptsMax.byAddress : attemptsMax.together },
      },
    },
    advanced: {
      cookiePrefix: cookiePrefix(baseUrl),
      // The library would put `__Secure-` in front, which binds less than the `__Host-` that we put there.
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isHttps },
      ipAddress: isBehindProxy ? { trustedProxies: [...trustedProxies] } : { ipAddressHeaders: [] },
      // Said aloud, because the library would otherwise decide it by NODE_ENV.
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    plugins: [twoFactor({ issuer: 'Fairlead', accountLockout: { enabled: false } })],
    logger: { level: 'error' },
    telemetry: { enabled: false },
  });
}

/**
 * Browsers take a `__Host-` cookie from this very host over https only (RFC 6265bis, section 4.1.3.2), so that no app on a
 * neighbouring host can plant a session. Plain http has no such word; there the port tells the cookies of one host apart.
 */
function cookiePrefix(baseUrl: string): string {
  const { protocol, port } = new URL(baseUrl);
  return protocol === 'https:' ? '__Host-fairlead' : `fairlead-${port || '80'}`;
}
