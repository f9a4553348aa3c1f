import { SecretsPage } from '../../../../../features/secret/secrets-page.tsx';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
}

export default async function Page({ params }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  await api.load(api.queryClient.prefetchQuery(api.trpc.secret.list.queryOptions({ appId: app.id })));
  return (
    <Hydrated organization={organization}>
      <SecretsPage appId={app.id} />
    </Hydrated>
  );
}
