// Owns identity: who someone is, by e-mail and password. Organizations, roles and tokens are core's; better-auth's
// plugins for them are not mounted. Nothing here may let a stranger make an account over HTTP.
import { randomUUID } from 'node:crypto';
import { AppError } from '@fairlead/contract/errors';
import { newId } from '@fairlead/contract/ids';
import type { Database } from '@fairlead/db';
import { identityClient } from '@fairlead/db/identity';
import { betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import { hashPassword } from 'better-auth/crypto';

export interface AuthOptions {
  /** Identity has its own tables; it reaches them as the login role, through this database's pool. */
  readonly identity: Database;
  /** Signs cookies. At least 32 characters of good randomness, kept in a file. */
  readonly secret: string;
  /** Where browsers reach the dashboard. */
  readonly baseUrl: string;
  readonly trustedOrigins: readonly string[];
}

export interface Session {
  readonly id: string;
  readonly expiresAt: Date;
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
}

export interface NewAccount {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

export interface Auth {
  /** Answers everything below `authPath`. */
  handler(request: Request): Promise<Response>;
  /** Null when the cookie is missing, forged, expired or signed out. Asks the database every time. */
  readSession(headers: Headers): Promise<Session | null>;
  /** Throws account.email_taken. Commits at once: it is not part of any transaction of core. */
  createAccount(account: NewAccount): Promise<{ userId: string }>;
  /** Takes back an account that nothing refers to yet. */
  deleteAccount(input: { userId: string }): Promise<void>;
}

export const authPath = '/api/auth';
const passwordLengthMin = 12;
const passwordLengthMax = 128;
const secretLengthMin = 32;
const daySeconds = 24 * 60 * 60;

/** Makes nothing until its first use: building the web app loads this module without a database. */
export function createAuth(options: AuthOptions): Auth {
  if (options.secret.length < secretLengthMin) {
    throw new RangeError(`the auth secret must have at least ${secretLengthMin} characters`);
  }
  let made: ReturnType<typeof build> | undefined;
  const auth = (): ReturnType<typeof build> => {
    made ??= build(options);
    return made;
  };
  const client = () => identityClient(options.identity);

  return {
    handler: (request) => auth().handler(request),
    readSession: async (headers) => {
      const found = await auth().api.getSession({ headers, query: { disableRefresh: true, disableCookieCache: true } });
      if (found === null) return null;
      const { user, session } = found;
      return {
        id: session.id,
        expiresAt: session.expiresAt,
        user: { id: user.id, name: user.name, email: user.email },
      };
    },
    createAccount: async ({ name, email, password }) => {
      const lowered = email.toLowerCase();
      const hash = await hashPassword(password);
      const userId = newId('usr');
      try {
        await client().$transaction([
          client().user.create({ data: { id: userId, name, email: lowered } }),
          client().account.create({
            data: { id: randomUUID(), accountId: userId, providerId: 'credential', userId, password: hash },
          }),
        ]);
      } catch (error) {
        if (isUniqueViolation(error)) throw new AppError('account.email_taken', {}, { cause: error });
        throw error;
      }
      return { userId };
    },
    deleteAccount: async ({ userId }) => {
      await client().user.deleteMany({ where: { id: userId } });
    },
  };
}

function build({ identity, secret, baseUrl, trustedOrigins }: AuthOptions) {
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
    session: { expiresIn: 30 * daySeconds, updateAge: daySeconds },
    rateLimit: {
      enabled: true,
      storage: 'database',
      window: 60,
      max: 200,
      customRules: { '/sign-in/email': { window: 60, max: 20 } },
    },
    advanced: {
      cookiePrefix: 'fairlead',
      useSecureCookies: baseUrl.startsWith('https:'),
      // Said aloud, because the library would otherwise decide it by NODE_ENV.
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    logger: { level: 'error' },
    telemetry: { enabled: false },
  });
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'P2002';
}
