import type { Metadata } from 'next';
import { parsePeriod } from '../../../../common/chart/period.ts';
import { ServerPage } from '../../../../features/server/server-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.server.get.queryOptions({ serverId: id }));
  return { title: await api.title(found, (server) => server.name) };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(
  async ({ api, params, search }) => {
    const { input } = parsePeriod(search, '15m');
    const server = await api.require(
      api.queryClient.fetchQuery(api.trpc.server.get.queryOptions({ serverId: params.id })),
    );
    const { trpc, queryClient } = api;
    const serverId = server.id;
    await api.load(
      queryClient.prefetchQuery(trpc.metric.server.queryOptions({ serverId, ...input })),
      queryClient.prefetchQuery(trpc.volumeMove.list.queryOptions({ serverId })),
      queryClient.prefetchQuery(trpc.domain.getBase.queryOptions({ serverId })),
      server.drainedAt === null
        ? Promise.resolve()
        : queryClient.prefetchQuery(trpc.server.drainState.queryOptions({ serverId })),
    );
    return <ServerPage initial={server} />;
  },
);
