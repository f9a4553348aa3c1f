import type { Metadata } from 'next';
import { TokenPage } from '../../../../features/token/token-page.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'API tokens' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.token.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.serviceAccount.list.queryOptions()),
  );
  return (
    <Hydrated organization={organization}>
      <TokenPage />
    </Hydrated>
  );
}
