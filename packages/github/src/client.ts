// Client of GitHub's REST API for the calls that Fairlead makes. It keeps nothing: a caller holds keys and tokens.
import { RequestError } from '@octokit/request-error';
import githubAppJwt from 'universal-github-app-jwt';
import { type Checks, createChecks } from './checks.ts';
import { type Commenting, createCommenting } from './commenting.ts';
import { cursorOf, ownerAndName, readUserToken, toDelivery, toInstallation } from './convert.ts';
import { GithubError } from './errors.ts';
import { createReporting, type Reporting } from './reporting.ts';
import { ask, type RequestLimits, requestOf, type TransportOptions } from './transport.ts';
import type {
  AppAddresses,
  AppKey,
  AppPermissions,
  Branch,
  DeliveryPage,
  GithubRepository,
  Installation,
  InstallationToken,
  Registration,
  TokenGrant,
} from './types.ts';

/** Entries of one page; GitHub's maximum. */
const pageSize = 100;
/** GitHub's maximum of 25 MB, and what surrounds it. */
const payloadBytesMax = 40 * 1024 * 1024;
/** Bounds a list of foreign length. */
const pagesMax = 30;

/** Permissions of the GitHub App. A token gets those that its purpose needs. */
export const appPermissions = {
  contents: 'read',
  metadata: 'read',
  checks: 'write',
  statuses: 'write',
  deployments: 'write',
  pull_requests: 'write',
} as const satisfies AppPermissions;

export interface Github extends Reporting, Commenting, Checks {
  /** Exchanges the code of the manifest flow for the new app. Throws GithubError not_found for a used or old code. */
  convertManifest(baseUrl: string, code: string): Promise<Registration>;
  /** Reads who a user token belongs to. */
  getUser(baseUrl: string, userToken: string): Promise<GithubUser>;
  /** Exchanges the code of an OAuth redirect for a token of the person who came back. Throws GithubError unauthorized. */
  exchangeCode(baseUrl: string, input: ExchangeInput): Promise<string>;
  revokeUserToken(baseUrl: string, input: RevokeInput): Promise<void>;
  /** Returns ids of the installations that the person of the token can access. */
  listUserInstallations(baseUrl: string, userToken: string): Promise<readonly number[]>;
  listInstallations(app: AppKey): Promise<readonly Installation[]>;
  getInstallation(app: AppKey, installationId: number): Promise<Installation>;
  getAppAddresses(app: AppKey): Promise<AppAddresses>;
  updateWebhookUrl(app: AppKey, url: string): Promise<void>;
  /** Reads GitHub's log of an app's webhooks, the newest first. `cursor`: of the page before; null: the first page. */
  listDeliveries(app: AppKey, cursor: string | null): Promise<DeliveryPage>;
  /** Returns the payload of a webhook as text. */
  getDeliveryPayload(app: AppKey, deliveryId: number): Promise<string>;
  createToken(app: AppKey, installationId: number, grant: TokenGrant): Promise<InstallationToken>;
  listRepositories(baseUrl: string, token: string): Promise<readonly GithubRepository[]>;
  listBranches(baseUrl: string, token: string, fullName: string): Promise<readonly Branch[]>;
  /** Returns the paths of a ref's files, as far as GitHub lists them. */
  listPaths(baseUrl: string, token: string, input: TreeInput): Promise<readonly string[]>;
  /** Returns the content of a text file. Throws GithubError not_found. */
  readFile(baseUrl: string, token: string, input: FileInput): Promise<string>;
}

export interface FileInput extends TreeInput {
  readonly path: string;
}

export interface ExchangeInput {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly code: string;
  /** Proof of the redirect that asked for the code, if it was ours. */
  readonly proof?: { readonly verifier: string; readonly redirectUrl: string };
}

export interface GithubUser {
  readonly githubUserId: number;
  readonly login: string;
}

export interface RevokeInput {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly userToken: string;
}

export interface TreeInput {
  readonly fullName: string;
  readonly ref: string;
}

export function createGithub(options: TransportOptions): Github {
  const { outbound, now } = options;

  async function asApp({ baseUrl, githubId, privateKey }: AppKey, limits: RequestLimits = {}) {
    const signed = githubAppJwt({ id: githubId, privateKey, now: Math.floor(now().getTime() / 1000) });
    // The reason may quote the key.
    const { token } = await signed.catch(() => {
      throw new GithubError('unauthorized', 'the private key of the GitHub App cannot be read');
    });
    return requestOf(options, baseUrl, token, limits);
  }

  return {
    convertManifest: (baseUrl, code) =>
      ask(options, async () => {
        const request = requestOf(options, baseUrl, null);
        const { data } = await request('POST /app-manifests/{code}/conversions', { code });
        return {
          githubId: data.id,
          slug: data.slug ?? '',
          name: data.name,
          ownerLogin: 'login' in data.owner ? data.owner.login : (data.owner.slug ?? ''),
          clientId: data.client_id,
          clientSecret: data.client_secret,
          webhookSecret: data.webhook_secret ?? '',
          privateKey: data.pem,
        };
      }),

    getUser: (baseUrl, userToken) =>
      ask(options, async () => {
        const { data } = await requestOf(options, baseUrl, userToken)('GET /user');
        return { githubUserId: Number(data.id), login: data.login };
      }),

    exchangeCode: (baseUrl, { clientId, clientSecret, code, proof }) =>
      ask(options, async () => {
        const { status, body } = await outbound.send({
          method: 'POST',
          url: `${baseUrl}/login/oauth/access_token`,
          headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'fairlead' },
          body: JSON.stringify({
            client_id: clientId,
            client_secret: clientSecret,
            code,
            ...(proof === undefined ? {} : { code_verifier: proof.verifier, redirect_uri: proof.redirectUrl }),
          }),
        });
        return readUserToken(status, Buffer.from(body).toString('utf8'));
      }),

    revokeUserToken: (baseUrl, { clientId, clientSecret, userToken }) =>
      ask(options, async () => {
        const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
        const request = requestOf(options, baseUrl, null);
        await request('DELETE /applications/{client_id}/token', {
          client_id: clientId,
          access_token: userToken,
          headers: { authorization: `Basic ${basic}` },
        });
      }),

    listUserInstallations: (baseUrl, userToken) =>
      ask(options, () =>
        allPages(async (page) => {
          const request = requestOf(options, baseUrl, userToken);
          const { data } = await request('GET /user/installations', { per_page: pageSize, page });
          return data.installations.map(({ id }) => Number(id));
        }),
      ),

    listInstallations: (app) =>
      ask(options, async () => {
        const request = await asApp(app);
        return allPages(async (page) => {
          const { data } = await request('GET /app/installations', { per_page: pageSize, page });
          return data.map(toInstallation);
        });
      }),

    getInstallation: (app, installationId) =>
      ask(options, async () => {
        const request = await asApp(app);
        const { data } = await request('GET /app/installations/{installation_id}', { installation_id: installationId });
        return toInstallation(data);
      }),

    getAppAddresses: (app) =>
      ask(options, async () => {
        const request = await asApp(app);
        const { data } = await request('GET /app');
        const hook = await request('GET /app/hook/config').catch((error: unknown) => {
          if (error instanceof RequestError && error.status === 404) return null;
          throw error;
        });
        return {
          homepageUrl: data?.external_url ?? '',
          webhookUrl: hook?.data.url ?? '',
          ownerType: data?.owner !== undefined && 'type' in data.owner ? data.owner.type : 'Enterprise',
        };
      }),

    updateWebhookUrl: (app, url) =>
      ask(options, async () => {
        const request = await asApp(app);
        // GitHub keeps the secret and the other settings that a request leaves out.
        // A parameter `url` would be the address of the request.
        await request('PATCH /app/hook/config', { data: { url } });
      }),

    listDeliveries: (app, cursor) =>
      ask(options, async () => {
        const request = await asApp(app);
        const page = cursor === null ? {} : { cursor };
        const { data, headers } = await request('GET /app/hook/deliveries', { per_page: pageSize, ...page });
        return { items: data.map(toDelivery), next: cursorOf(headers.link) };
      }),

    getDeliveryPayload: (app, deliveryId) =>
      ask(options, async () => {
        const request = await asApp(app, { bodyBytesMax: payloadBytesMax });
        const { data } = await request('GET /app/hook/deliveries/{delivery_id}', { delivery_id: deliveryId });
        return JSON.stringify(data.request.payload);
      }),

    createToken: (app, installationId, { permissions, repositoryIds }) =>
      ask(options, async () => {
        const request = await asApp(app);
        const { data } = await request('POST /app/installations/{installation_id}/access_tokens', {
          installation_id: installationId,
          permissions: { ...permissions },
          ...(repositoryIds === undefined ? {} : { repository_ids: [...repositoryIds] }),
        });
        return { token: data.token, expiresAt: new Date(data.expires_at) };
      }),

    listRepositories: (baseUrl, token) =>
      ask(options, () =>
        allPages(async (page) => {
          const request = requestOf(options, baseUrl, token);
          const { data } = await request('GET /installation/repositories', { per_page: pageSize, page });
          return data.repositories.map((each) => ({
            repositoryId: Number(each.id),
            fullName: each.full_name,
            defaultBranch: each.default_branch,
            isPrivate: each.private,
            isArchived: each.archived,
            pushedAt: each.pushed_at === null ? null : new Date(each.pushed_at),
          }));
        }),
      ),

    listBranches: (baseUrl, token, fullName) =>
      ask(options, () =>
        allPages(async (page) => {
          const request = requestOf(options, baseUrl, token);
          const path = { ...ownerAndName(fullName), per_page: pageSize, page };
          const { data } = await request('GET /repos/{owner}/{repo}/branches', path);
          return data.map(({ name, commit }) => ({ name, commitHash: commit.sha }));
        }),
      ),

    ...createReporting(options),
    ...createCommenting(options),
    ...createChecks(options),

    listPaths: (baseUrl, token, { fullName, ref }) =>
      ask(options, async () => {
        const request = requestOf(options, baseUrl, token);
        const path = { ...ownerAndName(fullName), tree_sha: ref, recursive: '1' };
        const { data } = await request('GET /repos/{owner}/{repo}/git/trees/{tree_sha}', path);
        return data.tree.flatMap(({ path: file, type }) => (type === 'blob' ? [file] : []));
      }),

    readFile: (baseUrl, token, { fullName, ref, path: file }) =>
      ask(options, async () => {
        const request = requestOf(options, baseUrl, token);
        const path = { ...ownerAndName(fullName), path: file, ref };
        const { data } = await request('GET /repos/{owner}/{repo}/contents/{path}', path);
        if (Array.isArray(data) || data.type !== 'file') throw new GithubError('not_found', 'the path is no file');
        return Buffer.from(data.content, 'base64').toString('utf8');
      }),
  };
}

async function allPages<T>(read: (page: number) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const items = await read(page);
    all.push(...items);
    if (items.length < pageSize) break;
  }
  return all;
}
