import type { Metadata } from 'next';
import { AuditPage } from '../../../../features/audit/audit-page.tsx';
import { readFilter, toInput } from '../../../../features/audit/filter.ts';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Audit log' };

export default organizationPage(async ({ api, search, timeZone }) => {
  const input = toInput(readFilter(search), await timeZone());
  await api.main(
    api.queryClient.fetchInfiniteQuery(
      api.trpc.audit.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <AuditPage />;
});
