// Pages and sections that the palette finds, with the words that people search for. Pure.
import { type SettingsSection, settingsSections } from '../../common/app/setting-fields.ts';
import type { Permission } from '../../common/organization/me.tsx';
import { accountPath, newOrganizationPath, type Paths } from '../../common/organization/paths.ts';
import { DOC_PAGES, docPath } from '../../common/page/docs.ts';

export interface PalettePage {
  readonly title: string;
  readonly keywords: readonly string[];
  readonly href: string;
  /** Page that contains the section; undefined for a page. */
  readonly within?: string;
}

export interface PageRights {
  readonly can: (permission: Permission) => boolean;
  readonly isOperator: boolean;
}

type Entry = PalettePage & { readonly needs?: Permission; readonly operatorOnly?: true };

/** Words for the items of the rail, by their title. */
export const NAV_KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  Overview: ['home', 'dashboard'],
  Apps: ['services'],
  Servers: ['machines', 'agents', 'hosts'],
  Benchmarks: ['load test', 'performance'],
  Domains: ['hosts', 'dns', 'custom domain'],
  Certificates: ['tls', 'ssl', 'https'],
  Members: ['people', 'team', 'users', 'invitations'],
  Settings: ['preferences', 'theme'],
};

/** Returns what the reader may open, besides the items of the rail. */
export function palettePages(paths: Paths, { can, isOperator }: PageRights): PalettePage[] {
  const entries: readonly Entry[] = [
    { title: 'Deployments', keywords: ['releases', 'builds', 'history'], href: paths.deployments },
    { title: 'New app', keywords: ['create app', 'import', 'deploy'], href: paths.newApp, needs: 'app.write' },
    { title: 'Add server', keywords: ['enrol', 'install agent'], href: paths.addServer, needs: 'server.enrol' },
    {
      title: 'Start benchmark',
      keywords: ['load test', 'measure'],
      href: paths.startBenchmark(),
      needs: 'benchmark.write',
    },
    {
      title: 'Benchmark plans',
      keywords: ['saved plans', 'load tests'],
      href: paths.benchmarkPlans,
      needs: 'benchmark.read',
    },
    {
      title: 'Recently deleted apps',
      keywords: ['restore app', 'trash', 'undo'],
      href: paths.deletedApps,
      needs: 'app.read',
    },
    { title: 'Webhook deliveries', keywords: ['pushes', 'push to deploy'], href: paths.deliveries },
    { title: 'Invite members', keywords: ['add people', 'invitation'], href: paths.members, needs: 'member.invite' },
    { title: 'Roles', keywords: ['permissions', 'access'], href: paths.roles, needs: 'role.read' },
    { title: 'Environments', keywords: ['production', 'staging', 'protection', 'stages'], href: paths.environments },
    { title: 'Shared groups', keywords: ['shared secrets'], href: paths.sharedSecrets, needs: 'secret.read' },
    { title: 'Git', keywords: ['github', 'repositories', 'connect'], href: paths.git, needs: 'app.write' },
    { title: 'DNS providers', keywords: ['wildcard certificates', 'zones'], href: paths.dnsProviders },
    {
      title: 'API tokens',
      keywords: ['tokens', 'service accounts', 'ci', 'keys'],
      href: paths.tokens,
      needs: 'token.read',
    },
    { title: 'Audit log', keywords: ['history', 'events', 'changes'], href: paths.audit, needs: 'audit.read' },
    { title: 'Organization settings', keywords: ['slug', 'organization'], href: paths.organizationSettings },
    ...sections('Organization settings', paths.organizationSettings, [
      ['name', 'Organization name', ['rename', 'url slug']],
      ['security', 'Require two-factor sign-in', ['2fa', 'mfa', 'security']],
      ['encryption', 'Data key', ['encryption', 'rotate key']],
      ['danger-zone', 'Delete organization', ['danger zone', 'leave', 'transfer ownership']],
    ]),
    ...sections('Control plane', paths.controlPlane, [
      ['', 'Control plane', ['instance', 'status', 'admin']],
      ['updates', 'Updates', ['upgrade', 'version', 'release']],
      ['domains', 'Dashboard domain', ['public url', 'address']],
      ['backups', 'Backups', ['restore', 'recovery']],
      ['email', 'Email', ['smtp', 'mail server']],
      ['storage', 'Storage', ['disk', 'space']],
      ['job-queue', 'Job queue', ['jobs', 'worker']],
      ['addresses', 'Addresses', ['listen', 'trusted proxies']],
      ['versions', 'Versions', ['about']],
    ]).map((entry) => ({ ...entry, operatorOnly: true as const })),
    { title: 'Your account', keywords: ['profile', 'me'], href: accountPath },
    ...sections('Your account', accountPath, [
      ['password', 'Password', ['change password']],
      ['passkeys', 'Passkeys', ['webauthn', 'security key']],
      ['two-factor', 'Two-factor sign-in', ['2fa', 'totp', 'authenticator', 'recovery codes']],
      ['sessions', 'Sessions', ['devices', 'sign out everywhere']],
      ['github', 'GitHub account', ['link github']],
    ]),
    { title: 'New organization', keywords: ['create organization', 'team'], href: newOrganizationPath },
    ...DOC_PAGES.map(({ name, title, keywords }) => ({ title, keywords, href: docPath(name), within: 'Docs' })),
  ];
  return entries
    .filter(({ needs, operatorOnly }) => (needs === undefined || can(needs)) && (!operatorOnly || isOperator))
    .map(({ needs: _needs, operatorOnly: _operatorOnly, ...page }) => page);
}

/** An empty anchor is the page itself. */
function sections(
  within: string,
  path: string,
  all: readonly (readonly [anchor: string, title: string, keywords: readonly string[]])[],
): PalettePage[] {
  return all.map(([anchor, title, keywords]) =>
    anchor === '' ? { title, keywords, href: path } : { title, keywords, href: `${path}#${anchor}`, within },
  );
}

/** Further words by which a section of an app's settings is found. */
const SETTINGS_KEYWORDS: Readonly<Record<SettingsSection, readonly string[]>> = {
  general: ['rename', 'name'],
  source: ['repository', 'branch', 'build', 'dockerfile'],
  runtime: ['start command', 'port', 'memory', 'workers'],
  scaling: ['autoscaling', 'instances', 'sleep'],
  health: ['health check', 'liveness'],
  traffic: ['load balancing', 'timeouts', 'retries', 'sticky sessions'],
  deploys: ['push', 'watch paths', 'pause'],
  servers: ['placement'],
  access: ['password', 'members'],
  danger: ['delete', 'remove', 'move'],
};

export interface AppPage {
  readonly id: string;
  readonly title: string;
  readonly keywords: readonly string[];
  readonly href: string;
}

interface AppAddress {
  readonly slug: string;
  readonly environmentId: string;
  readonly isPrimary: boolean;
}

/** Pages of one app, as its second level lists them. */
export function appPages(paths: Paths, { slug, environmentId, isPrimary }: AppAddress): AppPage[] {
  const at = isPrimary ? undefined : environmentId;
  return [
    { id: 'open', title: 'Open', keywords: ['overview', 'metrics', 'charts', 'live'], href: paths.app(slug, at) },
    { id: 'logs', title: 'Logs', keywords: ['output', 'errors'], href: paths.appLogs(slug, at) },
    {
      id: 'deployments',
      title: 'Deployments',
      keywords: ['builds', 'history', 'releases', 'rollback', 'roll back'],
      href: paths.appDeployments(slug, at),
    },
    {
      id: 'variables',
      title: 'Environment variables',
      keywords: ['env', 'secrets', 'secret', 'variables', 'config'],
      href: paths.appVariables(slug, at),
    },
    { id: 'domains', title: 'Domains', keywords: ['hosts', 'dns'], href: paths.appDomains(slug, at) },
    { id: 'storage', title: 'Storage', keywords: ['volumes', 'disk'], href: paths.appStorage(slug, at) },
    ...settingsSections.map((section) => ({
      id: `settings-${section.id}`,
      title: `Settings: ${section.title}`,
      keywords: SETTINGS_KEYWORDS[section.id],
      href: paths.appSettingsIn(section.id)(slug, at),
    })),
  ];
}

/** Ids whose page is found by the id alone. */
const PAGES_BY_ID: readonly (readonly [prefix: string, kind: string, path: (paths: Paths, id: string) => string])[] = [
  ['dep', 'deployment', (paths, id) => paths.deployment(id)],
  ['srv', 'server', (paths, id) => paths.server(id)],
  ['run', 'benchmark', (paths, id) => paths.benchmark(id)],
  ['dom', 'domain', (paths, id) => paths.domain(id)],
  ['crt', 'certificate', (paths, id) => paths.certificate(id)],
  ['dlv', 'push', (paths, id) => paths.delivery(id)],
];

/** Returns the page of a pasted id; null for anything else. */
export function pageOfId(paths: Paths, search: string): PalettePage | null {
  const [, prefix = '', rest] = /^([a-z]{3})_([a-z0-9]{20})$/i.exec(search) ?? [];
  const found = PAGES_BY_ID.find(([known]) => known === prefix);
  if (found === undefined || rest === undefined) return null;
  const [, kind, path] = found;
  return { title: `Open ${kind} ${search}`, keywords: [search], href: path(paths, search) };
}

/** Reads "#12", "12" and "hello #12" as the number of a deployment, with the name of its app. */
export function deploymentNumberOf(search: string): { readonly app: string; readonly number: number } | null {
  const [, app = '', digits = ''] = /^(?:(.*?)\s+)?#?(\d{1,9})$/.exec(search) ?? [];
  const number = Number(digits);
  return digits === '' || number === 0 ? null : { app, number };
}
