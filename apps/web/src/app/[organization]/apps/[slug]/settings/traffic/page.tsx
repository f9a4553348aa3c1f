import type { Metadata } from 'next';
import { TrafficSettings } from '../../../../../../features/config/traffic-page.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Traffic settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)));
  return <TrafficSettings slug={slug} initial={app} />;
});
