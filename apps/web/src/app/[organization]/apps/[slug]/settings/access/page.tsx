import type { Metadata } from 'next';
import { AccessCard } from '../../../../../../features/config/access-card.tsx';
import { EnvironmentProtection } from '../../../../../../features/environment/environment-protection.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Access settings' };

export default appPage(async ({ api, slug, app }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()));
  return (
    <>
      <EnvironmentProtection slug={slug} initial={app} />
      <AccessCard />
    </>
  );
});
