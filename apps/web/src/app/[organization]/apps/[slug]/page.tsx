import { isRange } from '../../../../common/chart/ranges.ts';
import { AppLivePage } from '../../../../features/app/app-live-page.tsx';
import { appPage } from '../../../../server/app-page.tsx';

export default appPage(async ({ api, search, slug, app, placement }) => {
  const requested = search('range');
  const range = isRange(requested) ? requested : '15m';
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.metric.app.queryOptions({ ...placement, range })),
    api.queryClient.prefetchQuery(api.trpc.metric.routes.queryOptions({ ...placement, range })),
    api.queryClient.prefetchQuery(api.trpc.deployment.list.queryOptions({ ...placement, limit: 5 })),
  );
  return <AppLivePage slug={slug} initial={app} />;
});
