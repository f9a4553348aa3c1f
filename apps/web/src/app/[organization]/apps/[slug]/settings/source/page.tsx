import type { Metadata } from 'next';
import { RepositoryCard } from '../../../../../../features/app/repository-card.tsx';
import { SourceSettings } from '../../../../../../features/config/source-page.tsx';
import { CredentialsCard } from '../../../../../../features/credential/credentials-card.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Source & build settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.credential.list.queryOptions({ appId: app.id })),
    api.queryClient.prefetchQuery(api.trpc.github.getAppRepository.queryOptions({ appId: app.id })),
  );
  return (
    <>
      <SourceSettings slug={slug} initial={app} />
      <RepositoryCard app={app} />
      <CredentialsCard app={app} />
    </>
  );
});
