import type { Metadata } from 'next';
import { OverviewPage } from '../../features/overview/overview-page.tsx';
import { Hydrated, pageApi } from '../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Overview' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(api.queryClient.prefetchQuery(api.trpc.overview.get.queryOptions()));
  return (
    <Hydrated organization={organization}>
      <OverviewPage />
    </Hydrated>
  );
}
