import { isDeploymentState } from '../../../../../common/states.ts';
import { DeploymentListPanel } from '../../../../../features/deployment/deployment-list.tsx';
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
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  const input = { appId: app.id, ...(isDeploymentState(state) ? { state } : {}) };
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <DeploymentListPanel appId={app.id} emptyHint={`Press Deploy to build the newest commit of ${app.branch}.`} />
    </Hydrated>
  );
}
