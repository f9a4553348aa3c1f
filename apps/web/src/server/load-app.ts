// Loads a page's app in the environment that the URL names.
import 'server-only';
import type { AppDetail } from '../api/types.ts';
import type { pageApi } from './page-api.tsx';
import { readSearch, type SearchParams } from './search-params.ts';

/** Ignores an environment that the app is not in: the URL may be older than the environment. */
export async function loadApp(
  api: Awaited<ReturnType<typeof pageApi>>,
  slug: string,
  searchParams: Promise<SearchParams>,
): Promise<AppDetail> {
  const asked = readSearch(await searchParams, 'environment');
  const home = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  const place = home.places.find(
    ({ environmentId }) => environmentId === asked && environmentId !== home.environmentId,
  );
  if (place === undefined) return home;
  const { environmentId } = place;
  return api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug, environmentId })));
}
