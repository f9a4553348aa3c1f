import type { Metadata } from 'next';
import { attentionInput } from '../../../common/attention/attention-input.ts';
import { CertificateListPage } from '../../../features/certificate/certificate-list-page.tsx';
import { toFilter } from '../../../features/certificate/filter.ts';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Certificates' };

export default organizationPage(async ({ api, search }) => {
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.certificate.list.infiniteQueryOptions(
        { search: search('search'), state: toFilter(search('state') ?? ''), ...attentionInput(search) },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return <CertificateListPage />;
});
