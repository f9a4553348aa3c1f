import type { Metadata } from 'next';
import { ProjectListPage } from '../../../features/project/project-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Projects' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.project.list.queryOptions()));
  return <ProjectListPage />;
});
