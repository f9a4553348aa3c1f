import type { Metadata } from 'next';
import { MemberListPage } from '../../../features/member/member-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Members' };

export default organizationPage(async ({ api }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.member.list.queryOptions()));
  return <MemberListPage />;
});
