// Owns identity: who someone is, by e-mail and password. Organizations, roles and tokens are core's; better-auth's
// plugins for them are not mounted. Nothing here may let a stranger make an account over HTTP.
import { randomUUID } from 'node:crypto';
import { AppError, type ErrorCode, errorTable } from '@fairlead/contract/errors';
import { newId } from '@fairlead/contract/ids';
import { identityClient } from '@fairlead/db/identity';
import { hashPassword } from 'better-auth/crypto';
import { z } from 'zod';
import { freshUntilOf } from './fresh.ts';
import { type AuthOptions, authPath, buildLibrary, passwordLengthMax } from './library.ts';
import { createSignInLimit, type SignInLimit } from './sign-in-limit.ts';

export interface Session {
  readonly id: string;
  readonly expiresAt: Date;
  /** Until then the person counts as having just proven who they are; `requireFresh` asks. */
  readonly freshUntil: Date;
  readonly user: {
    readonly id: string;
    readonly name: string;
    readonly email: string;
    /** Signing in by password asks for a code of their authenticator app too. */
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
   * Signs in and out, below `authPath`. Everything else that the library has is closed, also what it may get: it would be
   * an API that nobody wrote a schema, a permission or a test for.
   */
  handler(request: Request): Promise<Response>;
  /** Null when the cookie is missing, forged, expired or signed out. Asks the database every time. */
  readSession(headers: Headers): Promise<Session | null>;
  /** Throws account.email_taken. Commits at once: it is not part of any transaction of core. */
  createAccount(account: NewAccount): Promise<{ userId: string }>;
  /** Takes back an account that nothing refers to yet. */
  deleteAccount(input: { userId: string }): Promise<void>;
}

const secretLengthMin = 32;
// A sign-in is an address and a password; nothing else is read.
const bodyBytesMax = 4096;
const signInBody = z.object({ email: z.email().max(254), password: z.string().min(1).max(passwordLengthMax) });
const wrongPassword = 401;

/** Makes nothing until its first use: building the web app loads this module without a database. */
export function createAuth(options: AuthOptions): Auth {
  if (options.secret.length < secretLengthMin) {
    throw new RangeError(`the auth secret must have at least ${secretLengthMin} characters`);
  }
  let made: Library | undefined;
  const auth = (): Library => {
    made ??= buildLibrary(options);
    return made;
  };
  const client = () => identityClient(options.identity);
  const limit = createSignInLimit(client, () => new Date());

  return {
    handler: async (request) => {
      const path = new URL(request.url).pathname;
      if (request.method !== 'POST') return notFound();
      if (path === `${authPath}/sign-in/email`) return signIn(request, auth(), limit);
      if (path === `${authPath}/sign-out`) return auth().handler(withBody(request, {}));
      return notFound();
    },
    readSession: async (headers) => {
      const found = await auth().api.getSession({ headers, query: { disableRefresh: true, disableCookieCache: true } });
      if (found === null) return null;
      const { user, session } = found;
      return {
        id: session.id,
        expiresAt: session.expiresAt,
        freshUntil: freshUntilOf(session),
        user: { id: user.id, name: user.name, email: user.email, hasSecondFactor: user.twoFactorEnabled === true },
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

type Library = ReturnType<typeof buildLibrary>;

async function signIn(request: Request, library: Library, limit: SignInLimit): Promise<Response> {
  const body = signInBody.safeParse(await readJson(request, bodyBytesMax));
  if (!body.success) return refuse('input.invalid');
  const stranger = { account: body.data.email.toLowerCase(), deviceId: null, address: null };
  if (!(await limit.begin(stranger))) return refuse('request.too_many');
  const response = await library.handler(withBody(request, body.data));
  if (response.ok) await limit.succeed(stranger);
  else if (response.status !== wrongPassword) await limit.takeBack(stranger);
  return response;
}

/** What the library gets is what we read: no field that we don't know reaches it. */
function withBody(request: Request, body: object): Request {
  const headers = new Headers(request.headers);
  headers.set('content-type', 'application/json');
  headers.delete('content-length');
  return new Request(request.url, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Undefined when it is no JSON or longer than `bytesMax`. */
async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) return undefined;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}

function refuse(code: ErrorCode): Response {
  const { http, message } = errorTable[code];
  return Response.json({ code, message }, { status: http, headers: { 'cache-control': 'no-store' } });
}

function notFound(): Response {
  return new Response(null, { status: 404 });
}

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'P2002';
}
