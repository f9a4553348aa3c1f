import type { Metadata } from 'next';
import { AppListPage } from '../../../features/app/app-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Apps' };

export default organizationPage(async ({ api, search }) => {
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.app.list.infiniteQueryOptions(
        { search: search('search') },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return <AppListPage />;
});
