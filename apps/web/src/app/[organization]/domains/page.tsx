import type { Metadata } from 'next';
import { DomainListPage } from '../../../features/domain/domain-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Domains' };

export default organizationPage(async ({ api, search }) => {
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.domain.list.infiniteQueryOptions(
        { search: search('search') },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return <DomainListPage />;
});
