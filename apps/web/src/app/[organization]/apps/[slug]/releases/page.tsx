import { ReleasesPage } from '../../../../../features/release/releases-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.release.list.infiniteQueryOptions(placement, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <ReleasesPage slug={slug} initial={app} />;
});
