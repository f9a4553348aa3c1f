import type { Metadata } from 'next';
import { isDeploymentState } from '../../../common/deployment/states.ts';
import { DeploymentListPage } from '../../../features/deployment/deployment-list-page.tsx';
import { Hydrated, pageApi } from '../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../server/search-params.ts';

export const metadata: Metadata = { title: 'Deployments' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization } = await params;
  const state = readSearch(await searchParams, 'state');
  const api = await pageApi(organization);
  const input = isDeploymentState(state) ? { state } : {};
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <DeploymentListPage />
    </Hydrated>
  );
}
