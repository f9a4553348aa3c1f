// Identity on a database of its own for tests, with a real mail server that keeps what it is sent, and browsers that keep
// their cookies.
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createMailer } from '@fairlead/mail';
import { SMTPServer } from 'smtp-server';
import { type Auth, createAuth, type Session } from '../create-auth.ts';
import type { AuthOptions } from '../library.ts';

export const origin = 'https://fairlead.example.test';
export const password = 'correct horse battery';

export interface TestAuth {
  readonly db: TestDatabase;
  readonly auth: Auth;
  readonly options: AuthOptions;
  /** Failures after the response. */
  readonly failures: unknown[];
  readonly inbox: Inbox;
  /** `at`: origin of the pages that it opens. */
  browser(auth?: Auth, at?: string): Browser;
  /** Creates an account; returns its address. */
  newAccount(name: string): Promise<{ email: string; userId: string }>;
  close(): Promise<void>;
}

export interface Inbox {
  /** Mails to an address so far. */
  to(email: string): readonly string[];
  /** Waits for the next mail to an address beyond those already read by this call. */
  next(email: string): Promise<string>;
}

export interface Browser {
  readonly headers: () => Headers;
  send(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Response>;
  signIn(email: string, password?: string, headers?: Record<string, string>): Promise<Response>;
  session(): Promise<Session>;
  caller(): Promise<{ session: Session; headers: Headers }>;
  readonly cookies: Map<string, string>;
}

export async function startTestAuth(change: Partial<AuthOptions> = {}): Promise<TestAuth> {
  const db = await testDatabase();
  const sink = await startSink();
  const failures: unknown[] = [];
  const options: AuthOptions = {
    identity: db.database,
    secret: 's'.repeat(48),
    baseUrl: origin,
    trustedOrigins: [origin],
    trustedProxies: [],
    github: null,
    mail: createMailer({ url: sink.url, from: 'Fairlead <fairlead@example.test>' }),
    onFailure: (error) => failures.push(error),
    ...change,
  };
  const auth = createAuth(options);
  return {
    db,
    auth,
    options,
    failures,
    inbox: sink,
    browser: (other = auth, at = origin) => browserOf(other, at),
    newAccount: async (name) => {
      const email = `${name.toLowerCase()}@example.test`;
      return { email, ...(await auth.createAccount({ name, email, password })) };
    },
    close: async () => {
      await sink.close();
      await db.drop();
    },
  };
}

function browserOf(auth: Auth, at: string): Browser {
  const cookies = new Map<string, string>();
  const headers = () =>
    new Headers({
      origin: at,
      host: new URL(at).host,
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ...(cookies.size === 0 ? {} : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
    });
  const send: Browser['send'] = async (method, path, body, more = {}) => {
    const sent = headers();
    if (body !== undefined) sent.set('content-type', 'application/json');
    for (const [name, value] of Object.entries(more)) sent.set(name, value);
    const request = { method, headers: sent, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await auth.handler(new Request(`${at}/api/auth${path}`, request));
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      if (/Max-Age=0/i.test(line)) cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  };
  const session = async () => {
    const found = await auth.readSession(headers());
    if (found === null) throw new Error('this browser is not signed in');
    return found;
  };
  return {
    cookies,
    headers,
    send,
    signIn: (email, typed = password, more = {}) => send('POST', '/sign-in/email', { email, password: typed }, more),
    session,
    caller: async () => ({ session: await session(), headers: headers() }),
  };
}

/** Returns the token of a mail's link, by the name of its page. */
export function tokenIn(mail: string, page: string): string {
  const text = mail.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  const token = new RegExp(`/${page}#token=([\\w-]+)`).exec(text)?.[1];
  if (token === undefined) throw new Error(`the mail has no link to ${page}`);
  return token;
}

async function startSink(): Promise<Inbox & { readonly url: string; close(): Promise<void> }> {
  const mails: { readonly to: readonly string[]; readonly text: string }[] = [];
  const waiting = new Set<() => void>();
  const read = new Map<string, number>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), text: Buffer.concat(parts).toString('utf8') });
        done();
        for (const wake of waiting) wake();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the sink has no port');
  const to = (email: string) => mails.filter((mail) => mail.to.includes(email)).map(({ text }) => text);
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    to,
    next: async (email) => {
      const at = read.get(email) ?? 0;
      read.set(email, at + 1);
      for (;;) {
        const mail = to(email)[at];
        if (mail !== undefined) return mail;
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.add(resolve);
        await promise;
        waiting.delete(resolve);
      }
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
