// Routes of the web app besides its pages: each route file, its methods, and the statuses for every role.
// Invariant: a route without a declaration fails the test, because its access is not specified.

import { type AuthOptions, authPath, openPaths } from '@fairlead/auth';
import { libraryPaths } from '@fairlead/auth/testing';
import { permissionsOf } from '@fairlead/core/role';
import { origin } from '../test-api.ts';
import type { Person, Stage } from './stage.ts';

export type Handler = (request: Request, context?: unknown) => Promise<Response>;
/** A route file below apps/web/src/app → its methods. */
export type RouteHandlers = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

interface DeclaredRoute {
  readonly methods: readonly string[];
  readonly who: string;
  readonly requests: (stage: Stage, options: AuthOptions) => readonly DeclaredRequest[];
  /** Context that Next passes to the route. */
  readonly context?: unknown;
}

interface DeclaredRequest {
  readonly method: string;
  readonly path: string;
  /** Same status for all, or one for each caller. */
  readonly status: number | ((person: Person) => number);
}

const get = (path: string, status: number): DeclaredRequest => ({ method: 'GET', path, status });

const ofSession =
  (status: number) =>
  (person: Person): number =>
    person.cookie === undefined ? 401 : status;

/**
 * Open paths of the library; all others are closed. An empty body signs no one in, and sign-out works without a
 * session.
 */
const openAuthPaths: Readonly<Record<string, DeclaredRequest['status']>> = {
  'POST /api/auth/sign-in/email': 400,
  // No GitHub App of this control plane signs in.
  'POST /api/auth/sign-in/github': 409,
  'POST /api/auth/sign-in/github/complete': 400,
  'POST /api/auth/sign-out': 200,
  'POST /api/auth/two-factor/verify-totp': 401,
  'POST /api/auth/two-factor/verify-backup-code': 401,
  'GET /api/auth/passkey/generate-authenticate-options': 200,
  'POST /api/auth/passkey/verify-authentication': 401,
  'GET /api/auth/passkey/generate-register-options': ofSession(200),
  'POST /api/auth/passkey/verify-registration': ofSession(400),
  'POST /api/auth/confirm/passkey': ofSession(401),
};

function openName(name: string): string {
  return name.replace(' ', ` ${authPath}`);
}

function publishedReport(part: string): DeclaredRoute {
  return {
    methods: ['GET'],
    who: 'everyone with the address of a published report',
    requests: (stage) => [
      get(`/reports/rpt_none${part}`, 404),
      get(`/reports/${stage.foreign.get('run')}${part}`, 404),
    ],
    context: { params: Promise.resolve({ reportId: 'rpt_none' }) },
  };
}

export const declaredRoutes: Readonly<Record<string, DeclaredRoute>> = {
  'api/auth/[...all]/route.ts': {
    methods: ['GET', 'POST'],
    who: 'everyone: sign-in and sign-out; sessions: their passkeys; all other paths of the library are closed',
    requests: (_stage, options) => {
      const names = libraryPaths(options).map(({ method, path }) => `${method} ${path}`);
      return [...new Set([...names, ...openPaths.map(openName)])].map((name) => {
        const [method = '', path = ''] = name.split(' ');
        return { method, path, status: openAuthPaths[name] ?? 404 };
      });
    },
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
  'api/audit/export/route.ts': {
    methods: ['GET'],
    who: 'members who may read the audit log (audit.read)',
    requests: (stage) => [
      { method: 'GET', path: '/api/audit/export?organization=ours', status: (person) => ofExport(stage, person) },
      { method: 'GET', path: '/api/audit/export', status: (person) => (person === stage.nobody ? 401 : 404) },
    ],
  },
  'api/deployment/upload/route.ts': {
    methods: ['POST'],
    who: 'members who may deploy the named app (deployment.write) or, without one, create and deploy one (app.write)',
    requests: (stage) => [
      {
        method: 'POST',
        path: `/api/deployment/upload?organization=ours&appId=${stage.own.get('app')}`,
        status: (person) => ofUpload(stage, person),
      },
      {
        method: 'POST',
        path: `/api/deployment/upload?organization=ours&appId=${stage.foreign.get('app')}`,
        // A foreign upload gets the same answer as a missing one.
        status: (person) => (ofUpload(stage, person) === 400 ? 404 : ofUpload(stage, person)),
      },
      {
        method: 'POST',
        path: '/api/deployment/upload?organization=ours',
        status: (person) => ofUpload(stage, person),
      },
      {
        method: 'POST',
        path: `/api/deployment/upload?organization=ours&environmentId=${stage.foreign.get('env')}`,
        status: (person) => (ofUpload(stage, person) === 400 ? 404 : ofUpload(stage, person)),
      },
    ],
  },
  // Tests of their own cover API tokens; a session opens nothing here.
  'api/v1/[...path]/route.ts': {
    methods: ['GET', 'POST'],
    who: 'API tokens: the procedures above; everyone: the document',
    requests: (stage) => [
      get('/api/v1/openapi.json', 200),
      get('/api/v1/app/list', 401),
      get(`/api/v1/${stage.foreign.get('app')}`, 401),
      { method: 'POST', path: '/api/v1/app/delete', status: 401 },
    ],
  },
  // A session opens nothing here. Tests of its own cover signatures and tokens.
  'api/webhook/[endpoint]/route.ts': {
    methods: ['POST'],
    who: 'git hosts, by the signature or token of the webhook',
    requests: (stage) => [{ method: 'POST', path: `/api/webhook/${stage.own.get('whk')}`, status: 401 }],
    context: { params: Promise.resolve({ endpoint: 'whk_none' }) },
  },
  // Public: the same script and program for all, because a new server has no session.
  'install/agent.sh/route.ts': { methods: ['GET'], who: 'everyone', requests: () => [get('/install/agent.sh', 200)] },
  // The check's public URL has no authority of its own.
  'install/ca.pem/route.ts': { methods: ['GET'], who: 'everyone', requests: () => [get('/install/ca.pem', 404)] },
  'install/agent/[target]/route.ts': {
    methods: ['GET'],
    who: 'everyone',
    requests: (stage) => [get(`/install/agent/${stage.foreign.get('srv')}`, 404)],
    context: { params: Promise.resolve({ target: 'no-such-kind' }) },
  },
  // A published report is for strangers, and no session opens another one.
  'reports/[reportId]/route.ts': publishedReport(''),
  'reports/[reportId]/rows.json/route.ts': publishedReport('/rows.json'),
  'reports/[reportId]/image.png/route.ts': publishedReport('/image.png'),
  // The operator configures the contact; here there is none.
  '.well-known/security.txt/route.ts': {
    methods: ['GET'],
    who: 'everyone',
    requests: () => [get('/.well-known/security.txt', 404)],
  },
  'healthz/route.ts': { methods: ['GET'], who: 'everyone', requests: () => [get('/healthz', 200)] },
};

function ofExport(stage: Stage, person: Person): number {
  if (person === stage.nobody) return 401;
  const member = stage.roles.find((each) => each === person);
  if (member === undefined) return 404;
  return permissionsOf(member.role).includes('audit.read') ? 200 : 403;
}

/** Returns the expected status: the body is no tar.gz, and only a caller with the permission learns that. */
function ofUpload(stage: Stage, person: Person): number {
  if (person === stage.nobody) return 401;
  const member = stage.roles.find((each) => each === person);
  if (member === undefined) return 404;
  return permissionsOf(member.role).includes('deployment.write') ? 400 : 403;
}

export interface RoutesReport {
  readonly calls: number;
  readonly leaks: readonly string[];
}

/** Calls every handler as every role. If `complete`, every declared route must be among them. */
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
      // Sign-out ends a session, so each person has one of their own.
      const people: Person[] = [
        stage.nobody,
        path.endsWith('/sign-out') ? await stage.throwaway() : stage.foreignOwner,
      ];
      if (!path.endsWith('/sign-out')) people.push(stage.stranger, ...stage.roles);
      for (const person of people) {
        calls += 1;
        const response = await handler(requestOf(method, path, person), declared?.context);
        const text = await response.text();
        const expected = typeof status === 'number' ? status : status(person);
        if (response.status !== expected) {
          leaks.push(`${method} ${path} as ${person.name} answered ${response.status} where ${expected} is declared`);
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
