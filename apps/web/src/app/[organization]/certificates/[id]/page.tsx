import type { Metadata } from 'next';
import { CertificatePage } from '../../../../features/certificate/certificate-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.certificate.getDetail.queryOptions({ certificateId: id }));
  return { title: await api.title(found, (certificate) => certificate.host) };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(async ({ api, params }) => {
  const certificate = await api.require(
    api.queryClient.fetchQuery(api.trpc.certificate.getDetail.queryOptions({ certificateId: params.id })),
  );
  return <CertificatePage initial={certificate} />;
});
