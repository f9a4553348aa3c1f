import type { Metadata } from 'next';
import { RolesPage } from '../../../../features/role/roles-page.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

export const metadata: Metadata = { title: 'Roles' };

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
}

export default async function Page({ params }: Props) {
  const { organization } = await params;
  const api = await pageApi(organization);
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.role.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.grant.list.queryOptions({})),
    api.queryClient.prefetchQuery(api.trpc.member.list.queryOptions()),
  );
  return (
    <Hydrated organization={organization}>
      <RolesPage />
    </Hydrated>
  );
}
