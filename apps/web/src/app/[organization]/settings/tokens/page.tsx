import type { Metadata } from 'next';
import { TokenPage } from '../../../../features/token/token-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'API tokens' };

export default organizationPage(async ({ api }) => {
  await api.main(api.queryClient.fetchQuery(api.trpc.token.list.queryOptions()));
  await api.load(api.queryClient.prefetchQuery(api.trpc.serviceAccount.list.queryOptions()));
  return <TokenPage />;
});
