import type { Metadata } from 'next';
import { AppListPage } from '../../../features/app/app-list-page.tsx';
import { Hydrated, pageApi } from '../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../server/search-params.ts';

export const metadata: Metadata = { title: 'Apps' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization } = await params;
  const search = readSearch(await searchParams, 'search');
  const api = await pageApi(organization);
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.app.list.infiniteQueryOptions({ search }, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <AppListPage />
    </Hydrated>
  );
}
