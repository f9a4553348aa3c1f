import type { Metadata } from 'next';
import { RuntimeSettings } from '../../../../../../features/config/runtime-page.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Runtime settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)));
  return <RuntimeSettings slug={slug} initial={app} />;
});
