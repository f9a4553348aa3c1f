import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { ApiProvider } from '../../api/trpc.tsx';
import { SetupFlow } from '../../features/setup/setup-flow.tsx';
import { pageApi } from '../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../server/search-params.ts';

export const metadata: Metadata = { title: 'Set up' };

interface Props {
  readonly searchParams: Promise<SearchParams>;
}

export default async function SetupPage({ searchParams }: Props) {
  const token = readSearch(await searchParams, 'token');
  const api = await pageApi(null);
  const { needed } = await api.require(api.queryClient.fetchQuery(api.trpc.setup.status.queryOptions()));
  if (!needed) redirect('/');
  return (
    <ApiProvider organization={null}>
      <SetupFlow token={token.slice(0, 200)} />
    </ApiProvider>
  );
}
