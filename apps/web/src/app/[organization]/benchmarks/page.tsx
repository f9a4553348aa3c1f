import type { Metadata } from 'next';
import { BenchmarkListPage } from '../../../features/benchmark/benchmark-list-page.tsx';
import { Hydrated, pageApi } from '../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Benchmarks' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.benchmark.list.infiniteQueryOptions({}, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <BenchmarkListPage />
    </Hydrated>
  );
}
