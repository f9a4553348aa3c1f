import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { IdentityFrame } from '../../common/identity/identity-frame.tsx';
import { HomeLink } from '../../common/page/home-link.tsx';
import { NewOrganizationForm } from '../../features/organization/new-organization-form.tsx';
import { pageApi } from '../../server/page-api.tsx';

export const metadata: Metadata = { title: 'New organization' };

export default async function Page() {
  const api = await pageApi(null);
  await api.require(api.queryClient.fetchQuery(api.trpc.session.me.queryOptions()));
  return (
    <ApiProvider organization={null}>
      <IdentityFrame
        title="New organization"
        lead="It has its own apps, servers and members. You own it, and can invite others."
      >
        <div className="flex flex-col gap-6">
          <NewOrganizationForm />
          <HomeLink />
        </div>
      </IdentityFrame>
    </ApiProvider>
  );
}
