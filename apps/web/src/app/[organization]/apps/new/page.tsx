import type { Metadata } from 'next';
import { NewAppPage } from '../../../../features/app/new-app-page.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'New app' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(api.queryClient.prefetchQuery(api.trpc.server.list.queryOptions()));
  return (
    <Hydrated organization={organization}>
      <NewAppPage />
    </Hydrated>
  );
}
