import type { Metadata } from 'next';
import { ApiProvider } from '../../api/trpc.tsx';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { AccountPage } from '../../features/account/account-page.tsx';
import { Hydrated, pageApi } from '../../server/page-api.tsx';
import { regionChoices } from '../../server/region-choices.ts';

export const metadata: Metadata = { title: 'Your account' };

export default async function Page() {
  const api = await pageApi(null);
  await api.require(api.queryClient.fetchQuery(api.trpc.account.get.queryOptions()));
  await api.load(
    api.queryClient.fetchQuery(api.trpc.account.listGithubAccounts.queryOptions()),
    api.queryClient.fetchQuery(api.trpc.account.listSessions.queryOptions()),
    api.queryClient.fetchQuery(api.trpc.account.listEvents.queryOptions()),
  );
  return (
    <ApiProvider organization={null}>
      <Hydrated organization={null}>
        <ConfirmIdentityProvider>
          <AccountPage choices={regionChoices()} />
        </ConfirmIdentityProvider>
      </Hydrated>
    </ApiProvider>
  );
}
