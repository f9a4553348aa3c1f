import type { Metadata } from 'next';
import { ServerListPage } from '../../../features/server/server-list-page.tsx';
import { Hydrated, pageApi } from '../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Servers' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(api.queryClient.prefetchQuery(api.trpc.server.list.queryOptions()));
  return (
    <Hydrated organization={organization}>
      <ServerListPage />
    </Hydrated>
  );
}
