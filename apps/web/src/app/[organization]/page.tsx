import type { Metadata } from 'next';
import { PROJECT_FILTER, projectInput } from '../../common/project/project-input.ts';
import { OverviewPage } from '../../features/overview/overview-page.tsx';
import { organizationPage } from '../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Overview' };

export default organizationPage(async ({ api, search }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.project.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.overview.get.queryOptions(projectInput(search(PROJECT_FILTER)))),
  );
  return <OverviewPage />;
});
