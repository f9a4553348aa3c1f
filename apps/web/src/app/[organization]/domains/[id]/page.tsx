import type { Metadata } from 'next';
import { DomainPage } from '../../../../features/domain/domain-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.domain.get.queryOptions({ domainId: id }));
  return { title: await api.title(found, (domain) => domain.host) };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(async ({ api, params }) => {
  const domain = await api.require(
    api.queryClient.fetchQuery(api.trpc.domain.get.queryOptions({ domainId: params.id })),
  );
  const { trpc, queryClient } = api;
  const domainId = domain.id;
  await api.load(
    queryClient.prefetchQuery(trpc.host.get.queryOptions({ domainId })),
    queryClient.prefetchQuery(trpc.certificate.get.queryOptions({ domainId })),
    queryClient.prefetchQuery(trpc.domain.tls.queryOptions({ domainId })),
  );
  return <DomainPage initial={domain} />;
});
