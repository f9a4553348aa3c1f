// Fake GitHub on loopback, in the form of an Enterprise Server: web pages, REST API below /api/v3, and git over HTTP
// with tokens. Checks JWTs, tokens, permissions and bodies, and can be down, slow or rate-limited.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { holds, Refusal, requireTokenValue } from './auth.ts';
import { deliver, type WebhookOfFake } from './deliveries.ts';
import { authorize, authorizePage, createApp, exchangeCode, install, installPage, newAppPage } from './pages.ts';
import { answerRest } from './rest.ts';
import {
  createState,
  type FakeAccount,
  type FakeRepository,
  type FakeState,
  fullNameOf,
  reachOf,
  takeId,
} from './state.ts';

export interface FakeGithubOptions {
  /** Address of a git server on loopback that has the repositories; without it no repository can be cloned. */
  readonly gitUrl?: string;
  readonly now?: () => number;
}

export interface FakeGithub {
  readonly url: string;
  readonly state: FakeState;
  addAccount(login: string, type?: FakeAccount['type']): FakeAccount;
  addRepository(owner: FakeAccount, name: string, more?: Partial<FakeRepository>): FakeRepository;
  /** Presses the button of the page of a manifest; returns the address to which GitHub redirects. */
  createApp(input: { readonly manifest: string; readonly state: string; readonly owner: string }): string;
  /** Presses the button of the installation's page; returns the address to which GitHub redirects. */
  install(input: { readonly slug: string; readonly state: string; readonly account: string }): string;
  /** Presses the button of the page that asks for a person; returns the address to which GitHub redirects. */
  authorize(url: string): string;
  /** Sends a webhook of an app, once: GitHub does not repeat a failed one. Returns the answer's status; 0: none. */
  deliver(webhook: WebhookOfFake): Promise<number>;
  close(): Promise<void>;
}

export async function createFakeGithub({ gitUrl, now = Date.now }: FakeGithubOptions = {}): Promise<FakeGithub> {
  const state = createState(now);
  const server = createServer((request, response) => {
    answer(state, gitUrl, request, response).catch((error: unknown) => refuse(response, error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    state,
    addAccount: (login, type = 'Organization') => {
      const account = { id: takeId(state), login, type };
      state.accounts.push(account);
      return account;
    },
    addRepository: (owner, name, more = {}) => {
      const branches = { main: 'a'.repeat(40) };
      const facts = {
        isPrivate: true,
        defaultBranch: 'main',
        gitName: name,
        files: ['package.json'],
        contents: {},
        branches,
        changedFiles: {},
      };
      const repository = { id: takeId(state), owner, name, ...facts, ...more };
      state.repositories.push(repository);
      return repository;
    },
    createApp: (input) => createApp(state, new URLSearchParams({ ...input })),
    authorize: (url) => authorize(state, new URL(url).searchParams),
    install: (input) => install(state, new URLSearchParams({ ...input })),
    deliver: (webhook) => deliver(state, webhook),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  state: FakeState,
  gitUrl: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://github');
  const git = /^\/([^/]+)\/([^/]+)\.git(\/.*)$/.exec(url.pathname);
  if (git !== null) return forwardGit(state, gitUrl, git, url, request, response);
  const text = await readBody(request);
  state.requests += 1;
  await state.faults.hold;
  if (state.faults.down) throw new Refusal(503, 'Service unavailable');
  if (url.pathname.startsWith('/api/v3')) {
    limitRate(state);
    const { status, body, headers } = answerRest(state, {
      method: request.method ?? 'GET',
      path: url.pathname.slice('/api/v3'.length),
      query: url.searchParams,
      authorization: request.headers.authorization ?? '',
      body: text === '' ? null : JSON.parse(text),
    });
    return write(response, json(status, body, headers));
  }
  write(response, answerWeb(state, url, request.method ?? 'GET', text));
}

function answerWeb(state: FakeState, url: URL, method: string, text: string): Reply {
  const { pathname, searchParams } = url;
  const form = new URLSearchParams(text);
  const at = searchParams.get('state') ?? '';
  if (method === 'POST' && pathname === '/login/oauth/access_token')
    return json(200, exchangeCode(state, JSON.parse(text)));
  const owner = /^\/organizations\/([^/]+)\/settings\/apps\/new$/.exec(pathname)?.[1];
  if (method === 'POST' && (owner !== undefined || pathname === '/settings/apps/new'))
    return html(newAppPage(form.get('manifest') ?? '{}', at, owner ?? state.person));
  const slug = /^\/(?:github-)?apps\/([^/]+)\/installations\/new$/.exec(pathname)?.[1];
  if (slug !== undefined) return html(installPage(state, slug, at));
  if (pathname === '/login/oauth/authorize') return html(authorizePage(state, searchParams));
  if (method === 'POST' && pathname === '/_authorize') return redirect(authorize(state, form));
  if (method === 'POST' && pathname === '/_create') return redirect(createApp(state, form));
  if (method === 'POST' && pathname === '/_install') return redirect(install(state, form));
  throw new Refusal(404, 'Not Found');
}

/** Lets a clone or fetch through if its password is a token that reads the repository. */
async function forwardGit(
  state: FakeState,
  gitUrl: string | undefined,
  [, owner, name, rest]: RegExpExecArray,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const repository = state.repositories.find((each) => fullNameOf(each) === `${owner}/${name}`);
  if (repository === undefined || gitUrl === undefined) throw new Refusal(404, 'Not Found');
  if (repository.isPrivate && !mayClone(state, repository, request.headers.authorization ?? ''))
    throw new Refusal(401, 'Bad credentials', { 'www-authenticate': 'Basic realm="GitHub"' });
  const target = new URL(`${gitUrl}/${repository.gitName}.git${rest}${url.search}`);
  const { authorization: _, ...headers } = request.headers;
  const forward = httpRequest(target, { method: request.method, headers: { ...headers, host: target.host } });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    forward.once('response', resolve).once('error', reject);
  });
  await pipeline(request, forward);
  const upstream = await answered;
  response.writeHead(upstream.statusCode ?? 502, upstream.headers);
  await pipeline(upstream, response);
}

function mayClone(state: FakeState, repository: FakeRepository, authorization: string): boolean {
  const [user, token = ''] = Buffer.from(authorization.replace(/^basic /i, ''), 'base64')
    .toString('utf8')
    .split(':');
  if (user !== 'x-access-token') return false;
  try {
    const use = requireTokenValue(state, token);
    const reaches = reachOf(state, use.installation).some(({ id }) => id === repository.id);
    const named = use.token.repositoryIds === null || use.token.repositoryIds.includes(repository.id);
    return reaches && named && holds(use.token.permissions, 'contents:read');
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function limitRate({ faults, now }: FakeState): void {
  const limit = faults.rateLimit;
  if (limit === null) return;
  limit.remaining -= 1;
  if (limit.remaining <= 0) faults.rateLimit = null;
  const seconds = limit.retryAfterSeconds;
  if (limit.kind === 'secondary')
    throw new Refusal(403, 'You have exceeded a secondary rate limit', { 'retry-after': String(seconds) });
  throw new Refusal(403, 'API rate limit exceeded', {
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.floor(now() / 1000) + seconds),
  });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString('utf8');
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const refusal = error instanceof Refusal ? error : new Refusal(500, String(error));
  const body = { message: refusal.message, documentation_url: 'https://docs.github.com/rest' };
  write(response, json(refusal.status, body, refusal.headers));
}

function write(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, headers).end(body);
}

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  const text = status === 204 ? '' : JSON.stringify(body);
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: text };
}

function html(body: string): Reply {
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}

function redirect(location: string): Reply {
  return { status: 302, headers: { location }, body: '' };
}
