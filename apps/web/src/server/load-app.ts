// The app that a page shows, in the environment that its address names.
import 'server-only';
import type { AppDetail } from '../api/types.ts';
import type { pageApi } from './page-api.tsx';
import { readSearch, type SearchParams } from './search-params.ts';

/** One that the app is not in is answered as if none was named: the address may be older than the environment. */
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
