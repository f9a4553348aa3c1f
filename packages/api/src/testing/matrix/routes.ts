// Owns what the web app answers beside its pages, declared: each route file, each of its methods, and the statuses that
// anybody may see. A route that is not declared here is a leak, because nobody said who may call it.

import type { AuthOptions } from '@fairlead/auth';
import { libraryPaths } from '@fairlead/auth/testing';
import { origin } from '../test-api.ts';
import type { Person, Stage } from './stage.ts';

export type Handler = (request: Request, context?: unknown) => Promise<Response>;
/** A route file below apps/web/src/app → its methods. */
export type RouteHandlers = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

interface DeclaredRoute {
  readonly methods: readonly string[];
  readonly who: string;
  readonly requests: (stage: Stage, options: AuthOptions) => readonly DeclaredRequest[];
  /** What Next would hand it. */
  readonly context?: unknown;
}

interface DeclaredRequest {
  readonly method: string;
  readonly path: string;
  /** The same for everybody. */
  readonly status: number;
}

const get = (path: string, status: number): DeclaredRequest => ({ method: 'GET', path, status });

/** Everything else of the library is closed. An empty body signs nobody in, and out goes whoever asks. */
const openAuthPaths: Readonly<Record<string, number>> = {
  'POST /api/auth/sign-in/email': 400,
  'POST /api/auth/sign-out': 200,
};

export const declaredRoutes: Readonly<Record<string, DeclaredRoute>> = {
  'api/auth/[...all]/route.ts': {
    methods: ['GET', 'POST'],
    who: 'everybody: signing in and out; every other path of the library is closed',
    requests: (_stage, options) =>
      libraryPaths(options).map(({ method, path }) => ({
        method,
        path,
        status: openAuthPaths[`${method} ${path}`] ?? 404,
      })),
  },
  // The procedures have the matrix; here only what is none.
  'api/trpc/[trpc]/route.ts': {
    methods: ['GET', 'POST'],
    who: 'the procedures above',
    requests: (stage) => [
      get('/api/trpc/no.such', 404),
      get(`/api/trpc/${stage.foreign.get('app')}`, 404),
      { method: 'POST', path: '/api/trpc/no.such', status: 404 },
    ],
  },
  // The same script and program for everybody: a new server has no session.
  'install/agent.sh/route.ts': { methods: ['GET'], who: 'everybody', requests: () => [get('/install/agent.sh', 200)] },
  'install/agent/[target]/route.ts': {
    methods: ['GET'],
    who: 'everybody',
    requests: (stage) => [get(`/install/agent/${stage.foreign.get('srv')}`, 404)],
    context: { params: Promise.resolve({ target: 'no-such-kind' }) },
  },
  'healthz/route.ts': { methods: ['GET'], who: 'everybody', requests: () => [get('/healthz', 200)] },
};

export interface RoutesReport {
  readonly calls: number;
  readonly leaks: readonly string[];
}

/** Calls what `handlers` has, as everybody. Every declared route must be in it when it claims to be `complete`. */
export async function checkRoutes(
  stage: Stage,
  handlers: RouteHandlers,
  { authOptions, complete }: { readonly authOptions: AuthOptions; readonly complete: boolean },
): Promise<RoutesReport> {
  const leaks: string[] = [];
  let calls = 0;
  for (const file of Object.keys(declaredRoutes)) {
    if (complete && handlers[file] === undefined) leaks.push(`${file} is declared, but there is no such route`);
  }
  for (const [file, methods] of Object.entries(handlers)) {
    const declared = declaredRoutes[file];
    const undeclared = Object.keys(methods).filter((method) => !declared?.methods.includes(method));
    if (undeclared.length > 0) leaks.push(`${file} answers to ${undeclared.join(', ')}, which nobody declared`);
    for (const { method, path, status } of declared?.requests(stage, authOptions) ?? []) {
      const handler = methods[method];
      if (handler === undefined) continue;
      // Signing out ends a session: everybody comes with one of their own.
      const people: Person[] = [
        stage.nobody,
        path.endsWith('/sign-out') ? await stage.throwaway() : stage.foreignOwner,
      ];
      if (!path.endsWith('/sign-out')) people.push(stage.stranger, ...stage.roles);
      for (const person of people) {
        calls += 1;
        const response = await handler(requestOf(method, path, person), declared?.context);
        const text = await response.text();
        if (response.status !== status) {
          leaks.push(`${method} ${path} as ${person.name} answered ${response.status} where ${status} is declared`);
        }
        const trace = stage.foreignTraces.find((each) => text.includes(each) && !path.includes(each));
        if (trace !== undefined) leaks.push(`${method} ${path} as ${person.name} told of a foreign row: ${trace}`);
      }
    }
  }
  return { calls, leaks };
}

function requestOf(method: string, path: string, { cookie, slug }: Person): Request {
  const headers = new Headers({ origin, 'content-type': 'application/json', 'x-fairlead-organization': slug });
  if (cookie !== undefined) headers.set('cookie', cookie);
  return new Request(`${origin}${path}`, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) });
}
