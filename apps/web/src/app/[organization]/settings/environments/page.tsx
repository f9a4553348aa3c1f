import type { Metadata } from 'next';
import { EnvironmentsPage } from '../../../../features/environment/environments-page.tsx';
import { LeftVolumesCard } from '../../../../features/volume/left-volumes-card.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Environments' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()));
  return (
    <Hydrated organization={organization}>
      <EnvironmentsPage>
        <LeftVolumesCard />
      </EnvironmentsPage>
    </Hydrated>
  );
}
