// Every address of the dashboard, in one place. Pure.

/** One's own account: beside every organization. */
export const accountPath = '/account';
export const newOrganizationPath = '/new-organization';

export function pathsOf(organization: string) {
  const root = `/${organization}`;
  return {
    overview: root,
    apps: `${root}/apps`,
    newApp: `${root}/apps/new`,
    app: (slug: string) => `${root}/apps/${slug}`,
    appDeployments: (slug: string) => `${root}/apps/${slug}/deployments`,
    appReleases: (slug: string) => `${root}/apps/${slug}/releases`,
    appLogs: (slug: string) => `${root}/apps/${slug}/logs`,
    appConfig: (slug: string) => `${root}/apps/${slug}/config`,
    appDomains: (slug: string) => `${root}/apps/${slug}/domains`,
    appSecrets: (slug: string) => `${root}/apps/${slug}/secrets`,
    appSettings: (slug: string) => `${root}/apps/${slug}/settings`,
    deployments: `${root}/deployments`,
    deployment: (id: string) => `${root}/deployments/${id}`,
    servers: `${root}/servers`,
    addServer: `${root}/servers?add=1`,
    server: (id: string) => `${root}/servers/${id}`,
    benchmarks: `${root}/benchmarks`,
    startBenchmark: (appSlug?: string) => `${root}/benchmarks?start=${appSlug ?? '1'}`,
    benchmark: (id: string) => `${root}/benchmarks/${id}`,
    domains: `${root}/domains`,
    domain: (id: string) => `${root}/domains/${id}`,
    members: `${root}/members`,
    roles: `${root}/members/roles`,
    settings: `${root}/settings`,
    audit: `${root}/settings/audit`,
    tokens: `${root}/settings/tokens`,
    organizationSettings: `${root}/settings/organization`,
    sharedSecrets: `${root}/settings/secrets`,
  } as const;
}

export type Paths = ReturnType<typeof pathsOf>;
