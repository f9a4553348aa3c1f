import type { Metadata } from 'next';
import { ServerListPage } from '../../../features/server/server-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Servers' };

export default organizationPage(async ({ api }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.server.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.agentRollout.get.queryOptions()),
  );
  return <ServerListPage />;
});
