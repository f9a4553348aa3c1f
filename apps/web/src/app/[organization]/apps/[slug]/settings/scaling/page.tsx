import type { Metadata } from 'next';
import { ScalingSettings } from '../../../../../../features/config/scaling-page.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Scaling settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)));
  return <ScalingSettings slug={slug} initial={app} />;
});
