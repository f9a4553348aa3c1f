import { ReleasesPage } from '../../../../../features/release/releases-page.tsx';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization, slug } = await params;
  const asked = readSearch(await searchParams, 'environment');
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  const place = app.places.find((each) => each.environmentId === asked) ?? app.places[0];
  const input = { appId: app.id, environmentId: place?.environmentId ?? app.environmentId };
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.release.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return (
    <Hydrated organization={organization}>
      <ReleasesPage slug={slug} initial={app} />
    </Hydrated>
  );
}
