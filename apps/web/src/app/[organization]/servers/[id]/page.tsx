import type { Metadata } from 'next';
import { isRange } from '../../../../common/chart/ranges.ts';
import { ServerPage } from '../../../../features/server/server-page.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';
import { readSearch, type SearchParams } from '../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.server.get.queryOptions({ serverId: id }));
  return { title: await api.title(found, (server) => server.name) };
}

export default async function Page({ params, searchParams }: Props) {
  const { organization, id } = await params;
  const asked = readSearch(await searchParams, 'range');
  const range = isRange(asked) ? asked : '15m';
  const api = await pageApi(organization);
  const server = await api.require(api.queryClient.fetchQuery(api.trpc.server.get.queryOptions({ serverId: id })));
  await api.load(api.queryClient.prefetchQuery(api.trpc.metric.server.queryOptions({ serverId: server.id, range })));
  return (
    <Hydrated organization={organization}>
      <ServerPage initial={server} />
    </Hydrated>
  );
}
