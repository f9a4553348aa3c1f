import { SecretsPage } from '../../../../../features/secret/secrets-page.tsx';
import { loadApp } from '../../../../../server/load-app.ts';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';
import type { SearchParams } from '../../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await loadApp(api, slug, searchParams);
  await api.load(
    api.queryClient.prefetchQuery(
      api.trpc.secret.list.queryOptions({ appId: app.id, environmentId: app.environmentId }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <SecretsPage slug={slug} initial={app} />
    </Hydrated>
  );
}
