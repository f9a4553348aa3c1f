import type { Metadata } from 'next';
import { DeploymentPage } from '../../../../features/deployment/deployment-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.deployment.get.queryOptions({ deploymentId: id }));
  return { title: await api.title(found, (deployment) => `${deployment.appName} #${deployment.number}`) };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(async ({ api, params }) => {
  const deployment = await api.require(
    api.queryClient.fetchQuery(api.trpc.deployment.get.queryOptions({ deploymentId: params.id })),
  );
  await api.load(api.queryClient.prefetchQuery(api.trpc.app.get.queryOptions({ slug: deployment.appSlug })));
  return <DeploymentPage deploymentId={deployment.id} initial={deployment} />;
});
