// REST operations of the fake GitHub. Each names its path in the published description, so its body is checked against it.
import { holds, Refusal, requireApp, requirePerson, requireToken, type TokenUse } from './auth.ts';
import { pageOfDeliveries, showDelivery } from './deliveries.ts';
import { bodyProblem, exampleOf } from './openapi.ts';
import {
  type FakeApp,
  type FakeCheck,
  type FakeInstallation,
  type FakeRepository,
  type FakeState,
  fullNameOf,
  reachOf,
  secretOf,
  takeId,
} from './state.ts';

export interface RestRequest {
  readonly method: string;
  /** Path below the base of the API. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface RestAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Call extends RestRequest {
  readonly state: FakeState;
  readonly params: Readonly<Record<string, string>>;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly run: (call: Call) => RestAnswer;
}

const tokenMs = 60 * 60_000;
const ok = (body: unknown, status = 200): RestAnswer => ({ status, body });

const operations: readonly Operation[] = [
  { method: 'POST', path: '/app-manifests/{code}/conversions', run: convertManifest },
  {
    method: 'GET',
    path: '/app',
    run: ({ state, authorization }) => ok(appOf(state, requireApp(state, authorization))),
  },
  { method: 'GET', path: '/app/hook/config', run: (call) => ok(hookOf(requireApp(call.state, call.authorization))) },
  {
    method: 'PATCH',
    path: '/app/hook/config',
    run: ({ state, authorization, body }) => {
      const app = requireApp(state, authorization);
      if (typeof body?.url === 'string') app.hookUrl = body.url;
      return ok(hookOf(app));
    },
  },
  {
    method: 'GET',
    path: '/app/installations',
    run: (call) => {
      const app = requireApp(call.state, call.authorization);
      const installed = call.state.installations.filter(({ appId }) => appId === app.id);
      return ok(pageOf(call, installed).map((each) => installationOf(call.state, each)));
    },
  },
  {
    method: 'GET',
    path: '/app/installations/{installation_id}',
    run: (call) => ok(installationOf(call.state, installationOfApp(call))),
  },
  { method: 'POST', path: '/app/installations/{installation_id}/access_tokens', run: createToken },
  {
    method: 'GET',
    path: '/app/hook/deliveries',
    run: ({ state, authorization, query }) => pageOfDeliveries(state, requireApp(state, authorization), query),
  },
  {
    method: 'GET',
    path: '/app/hook/deliveries/{delivery_id}',
    run: ({ state, authorization, params }) => {
      const delivery = showDelivery(state, requireApp(state, authorization), Number(params.delivery_id));
      if (delivery === null) throw new Refusal(404, 'Not Found');
      return ok(delivery);
    },
  },
  {
    method: 'GET',
    path: '/installation/repositories',
    run: (call) => {
      const all = reachOfToken(call.state, requireToken(call.state, call.authorization));
      return ok({ total_count: all.length, repositories: pageOf(call, all).map(repositoryOf) });
    },
  },
  {
    method: 'GET',
    path: '/user',
    run: ({ state, authorization }) => {
      const { login } = requirePerson(state, authorization);
      return ok({ ...exampleOf('simple-user'), ...accountOf(state, login) });
    },
  },
  { method: 'GET', path: '/user/installations', run: listUserInstallations },
  { method: 'DELETE', path: '/applications/{client_id}/token', run: revokeUserToken },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/branches',
    run: (call) => {
      const { branches } = requireRepository(call, 'contents:read');
      const all = Object.entries(branches);
      return ok(pageOf(call, all).map(([name, sha]) => ({ name, commit: { sha, url: '' }, protected: false })));
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/git/trees/{tree_sha}',
    run: (call) => {
      const { files, branches } = requireRepository(call, 'contents:read');
      if (branches[call.params.tree_sha ?? ''] === undefined) throw new Refusal(404, 'Not Found');
      const tree = files.map((path) => ({ path, mode: '100644', type: 'blob', sha: '0'.repeat(40) }));
      return ok({ ...exampleOf('git-tree-default-response'), tree });
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/contents/{path}',
    run: (call) => {
      const { files, contents } = requireRepository(call, 'contents:read');
      const { path = '' } = call.params;
      if (!files.includes(path)) throw new Refusal(404, 'Not Found');
      const content = Buffer.from(contents[path] ?? '', 'utf8').toString('base64');
      return ok({ ...exampleOf('content-file'), type: 'file', path, content });
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}/check-runs',
    run: (call) => {
      const repository = requireRepository(call, 'checks:read');
      const all = receivedOf(call.state, repository, 'check-runs').filter(
        ({ body }) => body.head_sha === call.params.ref,
      );
      const own = all.map(({ id, body }) => ({ ...checkRunExample(), ...body, id }));
      const others = checksOf(call, repository, 'check_run').map(({ name, conclusion }) => ({
        ...checkRunExample(),
        name,
        conclusion,
        status: conclusion === null ? 'in_progress' : 'completed',
        external_id: '',
      }));
      return ok({ total_count: own.length + others.length, check_runs: pageOf(call, [...own, ...others]) });
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}/status',
    run: (call) => {
      const all = checksOf(call, requireRepository(call, 'statuses:read'), 'status');
      const statuses = all.map(({ name, conclusion }) => ({ context: name, state: conclusion ?? 'pending' }));
      return ok({ ...exampleOf('combined-commit-status'), statuses: pageOf(call, statuses) });
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/deployments',
    run: (call) => {
      const repository = requireRepository(call, 'deployments:read');
      const all = receivedOf(call.state, repository, 'deployments');
      const found = all.filter(({ body }) => body.ref === call.query.get('ref'));
      return ok(found.map(({ id, body }) => ({ ...exampleOf('deployment-simple-example'), ...body, id })));
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/check-runs/{check_run_id}',
    run: (call) => {
      const changes = receivedOf(call.state, requireRepository(call, 'checks:read'), 'check-runs').filter(
        ({ id }) => id === Number(call.params.check_run_id),
      );
      const last = changes.at(-1);
      if (last === undefined) throw new Refusal(404, 'Not Found');
      const outputs = changes.map(({ body }) => (body.output ?? {}) as { readonly annotations?: readonly unknown[] });
      const count = outputs.reduce((sum, { annotations = [] }) => sum + annotations.length, 0);
      const output = { ...outputs.at(-1), annotations_count: count };
      return ok({ ...checkRunExample(), ...last.body, id: last.id, output });
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/commits/{ref}/statuses',
    run: (call) => {
      const all = receivedOf(call.state, requireRepository(call, 'statuses:read'), 'statuses');
      const found = all.filter(({ body }) => body.sha === call.params.ref).reverse();
      return ok(pageOf(call, found).map(({ id, body }) => ({ ...exampleOf('status'), ...body, id })));
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/deployments/{deployment_id}/statuses',
    run: (call) => {
      const all = receivedOf(call.state, requireRepository(call, 'deployments:read'), 'deployment_statuses');
      const found = all.filter(({ body }) => body.on === Number(call.params.deployment_id)).reverse();
      return ok(pageOf(call, found).map(({ id, body }) => ({ ...exampleOf('deployment-status'), ...body, id })));
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/issues/{issue_number}/comments',
    run: (call) => {
      const repository = requireRepository(call, 'pull_requests:read');
      const all = commentsOf(call.state, repository).filter(({ on }) => on === Number(call.params.issue_number));
      return ok(pageOf(call, all).map(commentOf));
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/pulls/{pull_number}/files',
    run: (call) => {
      const { changedFiles } = requireRepository(call, 'pull_requests:read');
      const files = changedFiles[Number(call.params.pull_number)];
      if (files === undefined) throw new Refusal(404, 'Not Found');
      const [example] = exampleOf<[object]>('diff-entry-items');
      return ok(pageOf(call, files).map((filename) => ({ ...example, filename })));
    },
  },
  { method: 'POST', path: '/repos/{owner}/{repo}/issues/{issue_number}/comments', run: writeComment },
  { method: 'PATCH', path: '/repos/{owner}/{repo}/issues/comments/{comment_id}', run: writeComment },
  change('POST', '/repos/{owner}/{repo}/statuses/{sha}', 'statuses:write', 'status'),
  change('POST', '/repos/{owner}/{repo}/check-runs', 'checks:write', 'check-run-example-of-completed-conclusion'),
  change(
    'PATCH',
    '/repos/{owner}/{repo}/check-runs/{check_run_id}',
    'checks:write',
    'check-run-example-of-completed-conclusion',
  ),
  change('POST', '/repos/{owner}/{repo}/deployments', 'deployments:write', 'deployment-simple-example'),
  change(
    'POST',
    '/repos/{owner}/{repo}/deployments/{deployment_id}/statuses',
    'deployments:write',
    'deployment-status',
  ),
];

/** Answers a request to the API; throws a Refusal. */
export function answerRest(state: FakeState, request: RestRequest): RestAnswer {
  for (const { method, path, run } of operations) {
    const params = method === request.method ? match(path, request.path) : null;
    if (params === null) continue;
    const problem = bodyProblem(method, path, request.body);
    if (problem !== null) {
      state.problems.push(`${method} ${path}: ${problem}`);
      throw new Refusal(422, `Validation Failed: ${problem}`);
    }
    return run({ ...request, state, params });
  }
  state.problems.push(`${request.method} ${request.path} is not served`);
  throw new Refusal(404, 'Not Found');
}

function match(template: string, path: string): Record<string, string> | null {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  const found = new RegExp(`^${template.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(path);
  if (found === null) return null;
  return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(found[index + 1] ?? '')]));
}

function pageOf<T>({ query }: Call, items: readonly T[]): readonly T[] {
  const [size, page] = [Number(query.get('per_page') ?? 30), Number(query.get('page') ?? 1)];
  return items.slice((page - 1) * size, page * size);
}

function convertManifest({ state, params }: Call): RestAnswer {
  const code = params.code ?? '';
  const app = state.apps.find(({ id }) => id === state.manifestCodes.get(code));
  if (app === undefined) throw new Refusal(404, 'Not Found');
  state.manifestCodes.delete(code);
  return ok(
    {
      ...exampleOf('integration-from-manifest'),
      id: app.id,
      slug: app.slug,
      name: app.name,
      owner: accountOf(state, app.ownerLogin),
      permissions: app.permissions,
      events: app.events,
      client_id: app.clientId,
      client_secret: app.clientSecret,
      webhook_secret: app.webhookSecret,
      pem: app.pem,
    },
    201,
  );
}

function installationOfApp({ state, authorization, params }: Call): FakeInstallation {
  const app: FakeApp = requireApp(state, authorization);
  const found = state.installations.find(({ id, appId }) => String(id) === params.installation_id && appId === app.id);
  if (found === undefined) throw new Refusal(404, 'Not Found');
  return found;
}

function createToken(call: Call): RestAnswer {
  const { state, body } = call;
  const installation = installationOfApp(call);
  if (installation.suspendedAt !== null) throw new Refusal(403, 'This installation has been suspended');
  const permissions = (body?.permissions ?? installation.permissions) as Readonly<Record<string, string>>;
  for (const [name, level] of Object.entries(permissions)) {
    if (!holds(installation.permissions, `${name}:${level}`))
      throw new Refusal(422, 'The permissions requested are not granted to this installation.');
  }
  const reach = reachOf(state, installation).map(({ id }) => id);
  const wanted = (body?.repository_ids ?? null) as readonly number[] | null;
  if (wanted?.some((id) => !reach.includes(id)) === true)
    throw new Refusal(422, 'There is at least one repository that does not exist or is not accessible.');
  const value = secretOf('ghs');
  const expiresAt = state.now() + tokenMs;
  state.tokens.set(value, { installationId: installation.id, repositoryIds: wanted, permissions, expiresAt });
  return ok({ token: value, expires_at: new Date(expiresAt).toISOString(), permissions }, 201);
}

function listUserInstallations(call: Call): RestAnswer {
  const { state } = call;
  const { login, appId } = requirePerson(state, call.authorization);
  // The fake's people own their account and every organization.
  const all = state.installations.filter(
    (each) => each.appId === appId && (each.account.login === login || each.account.type === 'Organization'),
  );
  return ok({ total_count: all.length, installations: pageOf(call, all).map((each) => installationOf(state, each)) });
}

function revokeUserToken({ state, authorization, params, body }: Call): RestAnswer {
  const [id, secret] = Buffer.from(authorization.replace(/^basic /i, ''), 'base64')
    .toString('utf8')
    .split(':');
  const app = state.apps.find(({ clientId, clientSecret }) => clientId === id && clientSecret === secret);
  if (app === undefined || params.client_id !== app.clientId) throw new Refusal(401, 'Bad credentials');
  if (!state.userTokens.delete(String(body?.access_token))) throw new Refusal(422, 'Validation Failed');
  return ok(null, 204);
}

function receivedOf(state: FakeState, repository: FakeRepository, operation: string) {
  return state.received.filter((each) => each.operation === operation && each.repository === fullNameOf(repository));
}

function checksOf({ state, params }: Call, { id }: FakeRepository, kind: FakeCheck['kind']) {
  return state.checks.filter(
    (each) => each.kind === kind && each.repositoryId === id && each.commitHash === params.ref,
  );
}

function appOf(state: FakeState, app: FakeApp) {
  const { id, slug, name, homepageUrl, permissions, events } = app;
  const owner = accountOf(state, app.ownerLogin);
  return { ...exampleOf('integration'), id, slug, name, owner, permissions, events, external_url: homepageUrl };
}

/** GitHub shows whether there is a secret, and never the secret. */
function hookOf({ hookUrl }: FakeApp) {
  if (hookUrl === null) throw new Refusal(404, 'Not Found');
  return { ...exampleOf('webhook-config'), url: hookUrl };
}

function checkRunExample() {
  return exampleOf('check-run-example-of-completed-conclusion');
}

/** Operation that stores what it got. A change of a check run adds an entry with the same id. */
function change(method: string, path: string, permission: string, example: string): Operation {
  return {
    method,
    path,
    run: (call) => {
      const repository = requireRepository(call, permission);
      const { state, params } = call;
      const named = Number(params.check_run_id ?? params.deployment_id ?? 0);
      const kind = path.endsWith('/statuses') ? 'deployment_statuses' : path.split('/')[4];
      if (named !== 0 && !state.received.some(({ id }) => id === named)) throw new Refusal(404, 'Not Found');
      const id = params.check_run_id === undefined ? takeId(state) : named;
      const body = { ...call.body, ...(params.sha ? { sha: params.sha } : {}), ...(named ? { on: named } : {}) };
      state.received.push({ operation: kind ?? '', repository: fullNameOf(repository), id, body });
      state.faults.answersUntilLost -= 1;
      if (state.faults.answersUntilLost === 0) throw new Refusal(502, 'Bad Gateway');
      return ok({ ...exampleOf(example), ...call.body, id }, method === 'POST' ? 201 : 200);
    },
  };
}

/** Creates or edits a comment. Each keeps its place among the received changes, with its newest text. */
function writeComment(call: Call): RestAnswer {
  const repository = requireRepository(call, 'pull_requests:write');
  const { state, params, authorization } = call;
  const { installation } = requireToken(state, authorization);
  const named = params.comment_id === undefined ? null : Number(params.comment_id);
  const known = commentsOf(state, repository).find(({ id }) => id === named);
  if (named !== null && known === undefined) throw new Refusal(404, 'Not Found');
  const id = named ?? takeId(state);
  const on = known?.on ?? Number(params.issue_number);
  const body = { ...call.body, on, app: installation.appId };
  state.received.push({ operation: 'comments', repository: fullNameOf(repository), id, body });
  return ok(commentOf({ id, on, app: installation.appId, text: String(call.body?.body) }), named === null ? 201 : 200);
}

interface FakeComment {
  readonly id: number;
  /** Number of its pull request. */
  readonly on: number;
  /** App that wrote it. */
  readonly app: number;
  readonly text: string;
}

/** Returns the comments of a repository with their newest text, the oldest first. */
function commentsOf(state: FakeState, repository: FakeRepository): FakeComment[] {
  const newest = new Map(receivedOf(state, repository, 'comments').map(({ id, body }) => [id, body]));
  return [...newest].map(([id, body]) => ({
    id,
    on: Number(body.on),
    app: Number(body.app),
    text: String(body.body),
  }));
}

function commentOf({ id, app, text }: FakeComment) {
  const [example] = exampleOf<[object]>('issue-comment-items');
  return { ...example, id, body: text, performed_via_github_app: { ...exampleOf('integration'), id: app } };
}

function reachOfToken(state: FakeState, { token, installation }: TokenUse): FakeRepository[] {
  const reach = reachOf(state, installation);
  const { repositoryIds } = token;
  return repositoryIds === null ? reach : reach.filter(({ id }) => repositoryIds.includes(id));
}

function requireRepository({ state, authorization, params }: Call, permission: string): FakeRepository {
  const use = requireToken(state, authorization);
  const fullName = `${params.owner}/${params.repo}`;
  const repository = reachOfToken(state, use).find((each) => fullNameOf(each) === fullName);
  if (repository === undefined) throw new Refusal(404, 'Not Found');
  if (!holds(use.token.permissions, permission)) throw new Refusal(403, 'Resource not accessible by integration');
  return repository;
}

function accountOf(state: FakeState, login: string) {
  const account = state.accounts.find((each) => each.login === login);
  const example = exampleOf<{ owner: object }>('integration-from-manifest');
  return { ...example.owner, login, id: account?.id ?? 0, type: account?.type ?? 'User' };
}

function installationOf(state: FakeState, each: FakeInstallation) {
  return {
    ...exampleOf('base-installation'),
    id: each.id,
    account: accountOf(state, each.account.login),
    app_id: each.appId,
    target_id: each.account.id,
    target_type: each.account.type,
    permissions: each.permissions,
    repository_selection: each.repositoryIds === null ? 'all' : 'selected',
    suspended_at: each.suspendedAt,
  };
}

function repositoryOf(repository: FakeRepository) {
  const [example] = exampleOf<{ repositories: [object] }>('repository-paginated-2').repositories;
  return {
    ...example,
    id: repository.id,
    name: repository.name,
    full_name: fullNameOf(repository),
    private: repository.isPrivate,
    default_branch: repository.defaultBranch,
    archived: false,
  };
}
