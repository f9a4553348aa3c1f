import { ConfigPage } from '../../../../../features/config/config-page.tsx';
import { VolumesCard } from '../../../../../features/volume/volumes-card.tsx';
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
  const input = { appId: app.id, environmentId: app.environmentId };
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(input)),
    api.queryClient.prefetchQuery(api.trpc.volume.list.queryOptions(input)),
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.config.list.infiniteQueryOptions(
        { ...input, limit: 10 },
        { getNextPageParam: (page) => page.nextCursor },
      ),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <ConfigPage slug={slug} initial={app}>
        <VolumesCard slug={slug} initial={app} />
      </ConfigPage>
    </Hydrated>
  );
}
