// Redirects to the first set-up, to sign-in, or to the reader's organization.
import { redirect } from 'next/navigation';
import { pageApi } from '../server/page-api.tsx';

export default async function RootPage(): Promise<never> {
  const api = await pageApi(null);
  const { needed } = await api.require(api.queryClient.fetchQuery(api.trpc.setup.status.queryOptions()));
  if (needed) redirect('/setup');
  const me = await api.require(api.queryClient.fetchQuery(api.trpc.session.me.queryOptions()));
  const first = me.organizations[0];
  if (first === undefined) redirect('/no-organization');
  redirect(`/${first.slug}`);
}
