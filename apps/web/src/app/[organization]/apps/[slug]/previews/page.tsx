import type { Metadata } from 'next';
import { PreviewsPage } from '../../../../../features/preview/previews-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Previews' };

export default appPage(async ({ api, slug, app }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.preview.getPolicy.queryOptions({ appId: app.id })),
    api.queryClient.prefetchQuery(api.trpc.preview.list.queryOptions({ appId: app.id })),
  );
  return <PreviewsPage slug={slug} initial={app} />;
});
