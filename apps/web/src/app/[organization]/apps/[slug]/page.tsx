import { isRange } from '../../../../common/chart/ranges.ts';
import { AppLivePage } from '../../../../features/app/app-live-page.tsx';
import { loadApp } from '../../../../server/load-app.ts';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization, slug } = await params;
  const asked = readSearch(await searchParams, 'range');
  const range = isRange(asked) ? asked : '15m';
  const api = await pageApi(organization);
  const app = await loadApp(api, slug, searchParams);
  const place = { appId: app.id, environmentId: app.environmentId };
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.metric.app.queryOptions({ ...place, range })),
    api.queryClient.prefetchQuery(api.trpc.metric.routes.queryOptions({ ...place, range })),
    api.queryClient.prefetchQuery(api.trpc.deployment.list.queryOptions({ ...place, limit: 5 })),
  );
  return (
    <Hydrated organization={organization}>
      <AppLivePage slug={slug} initial={app} />
    </Hydrated>
  );
}
