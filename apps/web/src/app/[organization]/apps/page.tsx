import type { Metadata } from 'next';
import { PROJECT_FILTER, projectInput } from '../../../common/project/project-input.ts';
import { AppListPage } from '../../../features/app/app-list-page.tsx';
import { DeletedAppsPage } from '../../../features/app/deleted-apps-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Apps' };

export default organizationPage(async ({ api, search }) => {
  if (search('view') === 'deleted') {
    await api.load(api.queryClient.prefetchQuery(api.trpc.app.listDeleted.queryOptions()));
    return <DeletedAppsPage />;
  }
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.project.list.queryOptions()),
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.app.list.infiniteQueryOptions(
        { search: search('search'), ...projectInput(search(PROJECT_FILTER)) },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return <AppListPage />;
});
