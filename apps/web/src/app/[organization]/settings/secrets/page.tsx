import type { Metadata } from 'next';
import { SharedSecretsPage } from '../../../../features/secret/shared-secrets-page.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Shared secrets' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(api.queryClient.prefetchQuery(api.trpc.secret.listGroups.queryOptions()));
  return (
    <Hydrated organization={organization}>
      <SharedSecretsPage />
    </Hydrated>
  );
}
