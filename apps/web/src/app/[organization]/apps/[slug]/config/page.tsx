import { ConfigPage } from '../../../../../features/config/config-page.tsx';
import { VolumesCard } from '../../../../../features/volume/volumes-card.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.volume.list.queryOptions(placement)),
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.config.list.infiniteQueryOptions(
        { ...placement, limit: 10 },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return (
    <ConfigPage slug={slug} initial={app}>
      <VolumesCard slug={slug} initial={app} />
    </ConfigPage>
  );
});
