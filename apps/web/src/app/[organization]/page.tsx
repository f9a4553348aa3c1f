import type { Metadata } from 'next';
import { OverviewPage } from '../../features/overview/overview-page.tsx';
import { organizationPage } from '../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Overview' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.overview.get.queryOptions()));
  return <OverviewPage />;
});
