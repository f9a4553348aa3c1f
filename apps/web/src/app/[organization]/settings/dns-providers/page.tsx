import type { Metadata } from 'next';
import { DnsProvidersPage } from '../../../../features/dns-provider/dns-providers-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'DNS providers' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.dnsProvider.list.queryOptions()));
  return <DnsProvidersPage />;
});
