// Every address of the dashboard, in one place. Pure.

export function pathsOf(organization: string) {
  const root = `/${organization}`;
  return {
    overview: root,
    apps: `${root}/apps`,
    newApp: `${root}/apps/new`,
    app: (slug: string) => `${root}/apps/${slug}`,
    appDeployments: (slug: string) => `${root}/apps/${slug}/deployments`,
    appDomains: (slug: string) => `${root}/apps/${slug}/domains`,
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
    members: `${root}/members`,
    roles: `${root}/members/roles`,
    settings: `${root}/settings`,
    audit: `${root}/settings/audit`,
    tokens: `${root}/settings/tokens`,
  } as const;
}

export type Paths = ReturnType<typeof pathsOf>;
