import { parsePeriod } from '../../../../common/chart/period.ts';
import { AppLivePage } from '../../../../features/app/app-live-page.tsx';
import { defaultRange } from '../../../../features/app/default-range.ts';
import { appPage } from '../../../../server/app-page.tsx';

export default appPage(async ({ api: { queryClient, trpc, load }, search, slug, app, placement }) => {
  const initialRange = await defaultRange(async (range) => {
    const options = trpc.metric.app.queryOptions({ ...placement, range });
    await queryClient.prefetchQuery(options);
    return queryClient.getQueryData(options.queryKey);
  });
  const { input } = parsePeriod(search, initialRange);
  await load(
    queryClient.prefetchQuery(trpc.metric.app.queryOptions({ ...placement, ...input })),
    queryClient.prefetchQuery(trpc.metric.routes.queryOptions({ ...placement, ...input })),
    queryClient.prefetchQuery(trpc.deployment.list.queryOptions({ ...placement, limit: 5 })),
  );
  return <AppLivePage slug={slug} initial={app} initialRange={initialRange} />;
});
