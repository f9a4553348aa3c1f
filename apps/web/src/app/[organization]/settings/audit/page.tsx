import type { Metadata } from 'next';
import { AuditPage } from '../../../../features/audit/audit-page.tsx';
import { readFilter, toInput } from '../../../../features/audit/filter.ts';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../../server/search-params.ts';

export const metadata: Metadata = { title: 'Audit log' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization } = await params;
  const search = await searchParams;
  const api = await pageApi(organization);
  const input = toInput(readFilter((name) => readSearch(search, name)));
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.audit.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <AuditPage />
    </Hydrated>
  );
}
