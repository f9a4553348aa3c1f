import type { Metadata } from 'next';
import { RolesPage } from '../../../../features/role/roles-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Roles' };

export default organizationPage(async ({ api }) => {
  await api.main(api.queryClient.fetchQuery(api.trpc.role.list.queryOptions()));
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.grant.list.queryOptions({})),
    api.queryClient.prefetchQuery(api.trpc.member.list.queryOptions()),
  );
  return <RolesPage />;
});
