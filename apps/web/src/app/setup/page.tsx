import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { ApiProvider } from '../../api/trpc.tsx';
import { SetupFlow } from '../../features/setup/setup-flow.tsx';
import { pageApi } from '../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Set up' };

export default async function SetupPage() {
  const api = await pageApi(null);
  const { needed } = await api.require(api.queryClient.fetchQuery(api.trpc.setup.status.queryOptions()));
  if (!needed) redirect('/');
  return (
    <ApiProvider organization={null}>
      <SetupFlow />
    </ApiProvider>
  );
}
