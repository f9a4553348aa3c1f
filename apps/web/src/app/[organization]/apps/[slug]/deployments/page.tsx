import { isDeploymentState } from '../../../../../common/deployment/states.ts';
import { AppDeploymentsPage } from '../../../../../features/deployment/app-deployments-page.tsx';
import { loadApp } from '../../../../../server/load-app.ts';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization, slug } = await params;
  const state = readSearch(await searchParams, 'state');
  const api = await pageApi(organization);
  const app = await loadApp(api, slug, searchParams);
  const input = { appId: app.id, environmentId: app.environmentId, ...(isDeploymentState(state) ? { state } : {}) };
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <AppDeploymentsPage slug={slug} initial={app} />
    </Hydrated>
  );
}
