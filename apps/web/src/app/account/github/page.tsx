import type { Metadata } from 'next';
import { ApiProvider } from '../../../api/trpc.tsx';
import { ConfirmIdentityProvider } from '../../../common/identity/confirm-identity.tsx';
import { GithubLinkedPage } from '../../../features/account/github-linked-page.tsx';
import { Hydrated, pageApi } from '../../../server/page-api.tsx';
import { readQuery, type SearchProps } from '../../../server/read-query.ts';

export const metadata: Metadata = { title: 'Link GitHub account' };

export default async function Page({ searchParams }: SearchProps) {
  const read = await readQuery(searchParams);
  const api = await pageApi(null);
  await api.require(api.queryClient.fetchQuery(api.trpc.account.get.queryOptions()));
  return (
    <ApiProvider organization={null}>
      <Hydrated organization={null}>
        <ConfirmIdentityProvider>
          <GithubLinkedPage state={read('state')} code={read('code')} />
        </ConfirmIdentityProvider>
      </Hydrated>
    </ApiProvider>
  );
}
