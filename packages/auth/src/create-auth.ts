// Identity: accounts, sessions and sign-in. Organizations, roles and tokens are in core; better-auth's plugins for
// them are not mounted.
// Invariant: no path here lets a stranger make an account over HTTP.
import { randomUUID } from 'node:crypto';
import { AppError } from '@fairlead/contract/errors';
import { newId } from '@fairlead/contract/ids';
import { identityClient } from '@fairlead/db/identity';
import { type Account, createAccountActions } from './account.ts';
import { freshUntilOf } from './fresh.ts';
import { completeGithubSignIn, startGithubSignIn } from './github-sign-in.ts';
import { notFound, refuse, withBody } from './http.ts';
import type { Internals } from './internals.ts';
import { createKnownDevices } from './known-device.ts';
import { type AuthOptions, authPath, buildLibrary, type Library } from './library.ts';
import { addPasskey, confirmByPasskey, registrationOptions } from './passkeys.ts';
import { hashPassword } from './password.ts';
import { isReserved } from './restore-account.ts';
import { passkeyOptions, signInByCode, signInByPasskey, signInByPassword } from './sign-in.ts';
import { createSignInLimit } from './sign-in-limit.ts';

export interface Session {
  readonly id: string;
  readonly expiresAt: Date;
  /** Until then the session counts as fresh; `requireFresh` checks it. */
  readonly freshUntil: Date;
  readonly user: {
    readonly id: string;
    readonly name: string;
    readonly email: string;
    /** Locale and time zone of numbers and times; null: those of the browser. */
    readonly locale: string | null;
    readonly timeZone: string | null;
    /** True if signing in by password also requires a code of their authenticator app. */
    readonly hasAuthenticatorApp: boolean;
    /** This session has proven more than the password: a passkey, a code of the authenticator app or a recovery code. */
    readonly hasSecondFactor: boolean;
  };
}

export interface NewAccount {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

export interface Auth {
  /**
   * Serves the paths that set cookies, below `authPath`: `openPaths` and nothing else. All other paths of the library
   * are closed, also for GET: they would be an API without our schemas, permissions and tests.
   */
  handler(request: Request): Promise<Response>;
  /** Null when the cookie is missing, forged, expired or signed out. Asks the database every time. */
  readSession(headers: Headers): Promise<Session | null>;
  /** Throws account.email_taken. Commits at once: it is not part of any transaction of core. */
  createAccount(account: NewAccount): Promise<{ userId: string }>;
  /** Takes back an account that nothing refers to yet. */
  deleteAccount(input: { userId: string }): Promise<void>;
  /** Procedures of a person's own account; each is a procedure of the API. */
  readonly account: Account;
}

const secretLengthMin = 32;
/** Precision of the time of a session's last use. */
const lastUsedStepMs = 60_000;

type Opened = (internals: Internals, request: Request, session: Session) => Promise<Response>;
type Open = (internals: Internals, request: Request) => Promise<Response>;

/** Public paths. */
const open: Readonly<Record<string, Open>> = {
  'POST /sign-in/email': signInByPassword,
  'POST /two-factor/verify-totp': (internals, request) => signInByCode(internals, request, '/two-factor/verify-totp'),
  'POST /two-factor/verify-backup-code': (internals, request) =>
    signInByCode(internals, request, '/two-factor/verify-backup-code'),
  'POST /sign-in/github': startGithubSignIn,
  'POST /sign-in/github/complete': completeGithubSignIn,
  'GET /passkey/generate-authenticate-options': passkeyOptions,
  'POST /passkey/verify-authentication': signInByPasskey,
  'POST /sign-out': ({ library }, request) => library().handler(withBody(request, `${authPath}/sign-out`, {})),
};

/** Paths that require a session. */
const openToSessions: Readonly<Record<string, Opened>> = {
  'GET /passkey/generate-register-options': registrationOptions,
  'POST /passkey/verify-registration': addPasskey,
  'POST /confirm/passkey': confirmByPasskey,
};

/** All methods and paths that are served. */
export const openPaths: readonly string[] = [...Object.keys(open), ...Object.keys(openToSessions)];

/** Makes nothing until its first use: building the web app loads this module without a database. */
export function createAuth(options: AuthOptions): Auth {
  if (options.secret.length < secretLengthMin) {
    throw new RangeError(`the auth secret must have at least ${secretLengthMin} characters`);
  }
  const made = new Map<string, Library>();
  const allOrigins = () => [...options.trustedOrigins, ...(options.domainOrigins?.() ?? [])];
  const library = (headers?: Headers): Library => {
    const trustedOrigins = allOrigins();
    const host = headers?.get('host');
    const passkeyUrl = options.domainOrigins?.().find((origin) => new URL(origin).host === host);
    const key = [passkeyUrl ?? '', ...trustedOrigins].join(' ');
    const known = made.get(key);
    if (known !== undefined) return known;
    const built = buildLibrary({ ...options, trustedOrigins }, passkeyUrl);
    made.set(key, built);
    return built;
  };
  const client = () => identityClient(options.identity);
  const internals: Internals = {
    options,
    client,
    origins: allOrigins,
    library,
    limit: createSignInLimit(client, () => new Date()),
    devices: createKnownDevices(client, options),
  };

  const readSession = async (headers: Headers): Promise<Session | null> => {
    const query = { disableRefresh: true, disableCookieCache: true };
    const found = await library().api.getSession({ headers, query });
    if (found === null) return null;
    const { user, session } = found;
    await touchSession(internals, session);
    return {
      id: session.id,
      expiresAt: session.expiresAt,
      freshUntil: freshUntilOf(session),
      user: {
        id: user.id,
        name: user.name,
        email: user.email,
        locale: user.locale ?? null,
        timeZone: user.timeZone ?? null,
        hasAuthenticatorApp: user.twoFactorEnabled === true,
        hasSecondFactor: (session.secondFactorAt ?? null) !== null,
      },
    };
  };

  return {
    handler: async (request) => {
      const { pathname } = new URL(request.url);
      if (!pathname.startsWith(`${authPath}/`)) return notFound();
      const name = `${request.method} ${pathname.slice(authPath.length)}`;
      const forEverybody = Object.hasOwn(open, name) ? open[name] : undefined;
      if (forEverybody !== undefined) return forEverybody(internals, request);
      const forSessions = Object.hasOwn(openToSessions, name) ? openToSessions[name] : undefined;
      if (forSessions === undefined) return notFound();
      // The library checks it too; here it comes before anything is read.
      const origin = request.headers.get('origin');
      if (request.method !== 'GET' && (origin === null || !allOrigins().includes(origin))) {
        return refuse('permission.denied');
      }
      const session = await readSession(request.headers);
      if (session === null) return refuse('session.required');
      return forSessions(internals, request, session).catch((error: unknown) => {
        if (error instanceof AppError) return refuse(error.code);
        throw error;
      });
    },
    readSession,
    createAccount: async ({ name, email, password }) => {
      const lowered = email.toLowerCase();
      if (await isReserved(internals, lowered, null)) throw new AppError('account.email_taken');
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
    account: createAccountActions(internals),
  };
}

async function touchSession(
  { client }: Internals,
  { id, lastUsedAt }: { readonly id: string; readonly lastUsedAt?: Date | null | undefined },
): Promise<void> {
  const now = new Date();
  if (lastUsedAt && now.getTime() - lastUsedAt.getTime() < lastUsedStepMs) return;
  await client().session.updateMany({ where: { id }, data: { lastUsedAt: now } });
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'P2002';
}
