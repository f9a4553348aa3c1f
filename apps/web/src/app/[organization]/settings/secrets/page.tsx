import type { Metadata } from 'next';
import { SharedSecretsPage } from '../../../../features/variable/shared-secrets-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Shared groups' };

export default organizationPage(async ({ api }) => {
  await api.main(api.queryClient.fetchQuery(api.trpc.secret.listGroups.queryOptions()));
  return <SharedSecretsPage />;
});
