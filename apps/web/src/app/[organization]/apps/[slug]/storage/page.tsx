import type { Metadata } from 'next';
import { StoragePage } from '../../../../../features/config/storage-page.tsx';
import { VolumesCard } from '../../../../../features/volume/volumes-card.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Storage' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.volume.list.queryOptions(placement)),
  );
  return (
    <StoragePage slug={slug} initial={app}>
      <VolumesCard slug={slug} initial={app} />
    </StoragePage>
  );
});
