import type { Metadata } from 'next';
import { DeploymentPage } from '../../../../features/deployment/deployment-page.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.deployment.get.queryOptions({ deploymentId: id }));
  return { title: await api.title(found, (deployment) => `${deployment.appName} #${deployment.number}`) };
}

export default async function Page({ params }: Props) {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const deployment = await api.require(
    api.queryClient.fetchQuery(api.trpc.deployment.get.queryOptions({ deploymentId: id })),
  );
  await api.load(api.queryClient.prefetchQuery(api.trpc.app.get.queryOptions({ slug: deployment.appSlug })));
  return (
    <Hydrated organization={organization}>
      <DeploymentPage deploymentId={deployment.id} initial={deployment} />
    </Hydrated>
  );
}
