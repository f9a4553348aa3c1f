// Addresses and the manifest of GitHub Apps. Pure.

export const githubDotCom = 'https://github.com';

/** Permissions of the GitHub App: the least that clones, checks, statuses, deployments and comments need. */
const permissions = {
  contents: 'read',
  metadata: 'read',
  checks: 'write',
  statuses: 'write',
  deployments: 'write',
  pull_requests: 'write',
} as const;

const events = [
  'push',
  'create',
  'delete',
  'pull_request',
  'check_run',
  'check_suite',
  'status',
  'repository',
] as const;

/** GitHub's maximum. */
const nameMax = 34;

/** Null unless it is an origin that may get credentials: https, or http on this machine, as tests have it. */
export function normalizeBaseUrl(typed: string): string | null {
  const text = typed.trim();
  if (!URL.canParse(text)) return null;
  const { protocol, hostname, origin, pathname, search, hash, username, password } = new URL(text);
  const isOrigin = pathname === '/' && search === '' && hash === '' && username === '' && password === '';
  const isSafe = protocol === 'https:' || (protocol === 'http:' && hostname === '127.0.0.1');
  return isOrigin && isSafe ? origin : null;
}

export interface ManifestInput {
  readonly githubAppId: string;
  /** Origin of the dashboard. */
  readonly publicUrl: string;
  /** Origins of further addresses of the dashboard. Default: none. */
  readonly origins?: readonly string[];
  readonly organizationSlug: string;
}

/** GitHub's limit. */
const callbacksMax = 10;

/** Addresses of the dashboard in the settings of a GitHub App. */
export interface AppAddresses {
  readonly homepageUrl: string;
  readonly webhookUrl: string;
  readonly callbackUrls: readonly string[];
}

export function addressesOf({ githubAppId, publicUrl, origins = [], organizationSlug }: ManifestInput): AppAddresses {
  const proofs = [...new Set([publicUrl, ...origins])].flatMap((origin) => [
    `${origin}/account/github`,
    `${origin}/sign-in/github`,
  ]);
  return {
    homepageUrl: publicUrl,
    webhookUrl: webhookUrl(publicUrl, githubAppId),
    // The first is for installations. The others prove a person's account, to link it and to sign in.
    callbackUrls: [`${publicUrl}/${organizationSlug}/settings/git/installed`, ...proofs].slice(0, callbacksMax),
  };
}

function webhookUrl(origin: string, githubAppId: string): string {
  return `${origin}/api/webhook/${githubAppId}`;
}

export interface ForeignAddresses {
  /** No address of the dashboard gets the webhooks. */
  readonly webhook: boolean;
  /** The homepage is no address of the dashboard, so the callback URLs are probably none either: GitHub does not tell them. */
  readonly homepage: boolean;
}

/** Compares the addresses at GitHub with those of the dashboard: an app may have any of them. */
export function findForeign(
  { githubAppId, publicUrl, origins = [] }: Omit<ManifestInput, 'organizationSlug'>,
  atGithub: Pick<AppAddresses, 'homepageUrl' | 'webhookUrl'>,
): ForeignAddresses {
  const own = [publicUrl, ...origins];
  const { homepageUrl } = atGithub;
  return {
    webhook: !own.some((origin) => webhookUrl(origin, githubAppId) === atGithub.webhookUrl),
    homepage: !(URL.canParse(homepageUrl) && own.includes(new URL(homepageUrl).origin)),
  };
}

/** Returns the manifest of a new GitHub App, as GitHub's documentation describes it. */
export function manifestOf(input: ManifestInput): string {
  const { githubAppId, publicUrl, organizationSlug } = input;
  const { homepageUrl, webhookUrl: url, callbackUrls } = addressesOf(input);
  // Names are unique at GitHub. The end of the app's id here distinguishes apps of one organization.
  const suffix = `-${githubAppId.slice(-5)}`;
  return JSON.stringify({
    name: `Fairlead ${organizationSlug}`.slice(0, nameMax - suffix.length) + suffix,
    url: homepageUrl,
    hook_attributes: { url, active: true },
    redirect_url: `${publicUrl}/${organizationSlug}/settings/git/registered`,
    callback_urls: callbackUrls,
    // GitHub then proves who installed it, by a code.
    request_oauth_on_install: true,
    public: false,
    default_permissions: permissions,
    default_events: events,
  });
}

/** Address to which a browser sends the manifest. `owner`: an organization at GitHub; empty: the person's own account. */
export function registrationUrl(baseUrl: string, owner: string, state: string): string {
  const account = owner === '' ? '' : `/organizations/${encodeURIComponent(owner)}`;
  return `${baseUrl}${account}/settings/apps/new?state=${encodeURIComponent(state)}`;
}

interface AppPlace {
  readonly baseUrl: string;
  readonly slug: string;
}

/** Address of the app at GitHub. An Enterprise Server has another path than github.com. */
export function appUrl({ baseUrl, slug }: AppPlace): string {
  return `${baseUrl}/${baseUrl === githubDotCom ? 'apps' : 'github-apps'}/${slug}`;
}

export function installUrl(app: AppPlace, state: string): string {
  return `${appUrl(app)}/installations/new?state=${encodeURIComponent(state)}`;
}

/** Page at GitHub where an owner of the app changes its addresses. `ownerType`: as GitHub names it. */
export function appSettingsUrl({ baseUrl, slug }: AppPlace, ownerLogin: string, ownerType: string): string {
  const account = { User: '', Enterprise: `/enterprises/${ownerLogin}` }[ownerType] ?? `/organizations/${ownerLogin}`;
  return `${baseUrl}${account}/settings/apps/${slug}`;
}

interface InstallationPlace {
  readonly baseUrl: string;
  readonly installationId: bigint;
  readonly accountLogin: string;
  readonly accountType: string;
}

/** Page at GitHub where an owner of the account changes the repositories of the installation, or uninstalls it. */
export function manageUrl({ baseUrl, installationId, accountLogin, accountType }: InstallationPlace): string {
  const account = accountType === 'Organization' ? `/organizations/${accountLogin}` : '';
  return `${baseUrl}${account}/settings/installations/${installationId}`;
}

export function cloneUrl(baseUrl: string, fullName: string): string {
  return `${baseUrl}/${fullName}.git`;
}

/** Files that make their folder one that can be built on its own. */
const appFiles = new Set([
  'package.json',
  'Dockerfile',
  'go.mod',
  'Cargo.toml',
  'pyproject.toml',
  'requirements.txt',
  'Gemfile',
  'composer.json',
  'mix.exs',
  'deno.json',
  'index.html',
]);
const ignoredFolder = /(?:^|\/)(?:node_modules|vendor|target|dist|build|test|tests|fixtures|__tests__|\.[^/]+)(?:\/|$)/;
const folderDepthMax = 4;
const foldersMax = 100;

/** Returns the folders of a repository that may be apps, the root ("") first. */
export function appFoldersOf(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    const at = path.lastIndexOf('/');
    const [folder, file] = [at === -1 ? '' : path.slice(0, at), path.slice(at + 1)];
    if (!appFiles.has(file) || ignoredFolder.test(folder)) continue;
    if (folder.split('/').length <= folderDepthMax) folders.add(folder);
  }
  return [...folders].sort().slice(0, foldersMax);
}
