import type { Metadata } from 'next';
import { EnvironmentsPage } from '../../../../features/environment/environments-page.tsx';
import { UnusedVolumesCard } from '../../../../features/volume/unused-volumes-card.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Environments' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()));
  return (
    <EnvironmentsPage>
      <UnusedVolumesCard />
    </EnvironmentsPage>
  );
});
