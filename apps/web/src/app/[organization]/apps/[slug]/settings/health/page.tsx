import type { Metadata } from 'next';
import { HealthSettings } from '../../../../../../features/config/health-page.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Health check settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)));
  return <HealthSettings slug={slug} initial={app} />;
});
