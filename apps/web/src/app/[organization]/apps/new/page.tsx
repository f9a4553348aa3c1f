import type { Metadata } from 'next';
import { NewAppPage } from '../../../../features/app/new-app-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'New app' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.server.list.queryOptions()));
  return <NewAppPage />;
});
