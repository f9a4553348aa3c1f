// URL paths of the dashboard. Pure.
import type { SettingsSection } from '../app/setting-fields.ts';

/** The user's own account is outside of every organization. */
export const accountPath = '/account';
export const newOrganizationPath = '/new-organization';

export function pathsOf(organization: string) {
  const root = `/${organization}`;
  /** Without an environment, the link leads to the one where the app was created. */
  const ofApp = (page: string) => (slug: string, environmentId?: string) =>
    `${root}/apps/${slug}${page}${environmentId === undefined ? '' : `?environment=${environmentId}`}`;
  return {
    overview: root,
    projects: `${root}/projects`,
    projectApps: (projectId: string) => `${root}/apps?project=${projectId}`,
    apps: `${root}/apps`,
    deletedApps: `${root}/apps?view=deleted`,
    newApp: `${root}/apps/new`,
    newAppFromTemplate: `${root}/apps/new?source=template`,
    app: ofApp(''),
    appDeployments: ofApp('/deployments'),
    appPreviews: ofApp('/previews'),
    appLogs: ofApp('/logs'),
    appStorage: ofApp('/storage'),
    appDomains: ofApp('/domains'),
    appVariables: ofApp('/variables'),
    appSettings: ofApp('/settings/general'),
    appSettingsIn: (section: SettingsSection) => ofApp(`/settings/${section}`),
    deployments: `${root}/deployments`,
    deployment: (id: string) => `${root}/deployments/${id}`,
    deliveries: `${root}/deliveries`,
    delivery: (id: string) => `${root}/deliveries/${id}`,
    servers: `${root}/servers`,
    addServer: `${root}/servers?add=1`,
    server: (id: string) => `${root}/servers/${id}`,
    benchmarks: `${root}/benchmarks`,
    startBenchmark: (appSlug?: string) => `${root}/benchmarks?start=${appSlug ?? '1'}`,
    benchmarkPlans: `${root}/benchmarks/plans`,
    runPlan: (appSlug: string, planId: string) => `${root}/benchmarks?start=${appSlug}&plan=${planId}`,
    benchmark: (id: string) => `${root}/benchmarks/${id}`,
    domains: `${root}/domains`,
    domain: (id: string) => `${root}/domains/${id}`,
    certificates: `${root}/certificates`,
    certificate: (id: string) => `${root}/certificates/${id}`,
    members: `${root}/members`,
    roles: `${root}/members/roles`,
    settings: `${root}/settings`,
    audit: `${root}/settings/audit`,
    tokens: `${root}/settings/tokens`,
    dnsProviders: `${root}/settings/dns-providers`,
    environments: `${root}/settings/environments`,
    git: `${root}/settings/git`,
    registerGithub: `${root}/settings/git/register`,
    organizationSettings: `${root}/settings/organization`,
    controlPlane: `${root}/settings/control-plane`,
    sharedSecrets: `${root}/settings/secrets`,
  } as const;
}

export type Paths = ReturnType<typeof pathsOf>;
