import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { InvitationPage } from '../../features/invitation/invitation-page.tsx';
import { pageApi } from '../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Invitation' };

export default async function Page() {
  const api = await pageApi(null);
  // This page also serves readers who are not signed in.
  const me = await api.optional(api.queryClient.fetchQuery(api.trpc.session.me.queryOptions()));
  return (
    <ApiProvider organization={null}>
      <InvitationPage user={me?.user ?? null} />
    </ApiProvider>
  );
}
