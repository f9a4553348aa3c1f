import type { Metadata } from 'next';
import { GitSettingsPage } from '../../../../features/github/git-settings-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Git' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.github.listApps.queryOptions()));
  return <GitSettingsPage />;
});
