import type { Metadata } from 'next';
import { GeneralSettings } from '../../../../../../features/config/general-page.tsx';
import { HistoryCard } from '../../../../../../features/config/history-card.tsx';
import { MoveAppCard } from '../../../../../../features/project/move-app-card.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.project.list.queryOptions()),
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.config.list.infiniteQueryOptions(
        { ...placement, limit: 10 },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return (
    <>
      <GeneralSettings slug={slug} initial={app} />
      <MoveAppCard slug={slug} initial={app} />
      <HistoryCard slug={slug} initial={app} />
    </>
  );
});
