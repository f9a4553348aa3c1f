'use client';
// Server page: charts on a shared time axis, apps, facts from the agent, and proxy settings.
import { Card, CardHeader } from '@fairlead/ui/card';
import { formatBytes } from '@fairlead/ui/lib/format';
import { PageHeader } from '@fairlead/ui/page-header';
import { Skeleton } from '@fairlead/ui/skeleton';
import { StateMark } from '@fairlead/ui/state-pill';
import { Segmented } from '@fairlead/ui/tabs';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { LivePage } from '../../api/live.tsx';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { isRange, ranges, refetchIntervalMs } from '../../common/chart/ranges.ts';
import { LookPill } from '../../common/deployment/state-view.tsx';
import { serverLook } from '../../common/deployment/states.ts';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';
import { isDiskShort } from '../../common/server/disk.ts';
import { ProxyForm } from './proxy-form.tsx';
import { ServerDisk } from './server-disk.tsx';
import { ServerDrainNote } from './server-drain-note.tsx';
import { ServerFacts } from './server-facts.tsx';
import { ServerMenu } from './server-menu.tsx';
import { ServerOfflineNote } from './server-offline-note.tsx';
import { ServerUninstallNote } from './server-uninstall-note.tsx';

const ServerCharts = dynamic(() => import('./server-charts.tsx').then((module) => module.ServerCharts), {
  ssr: false,
  loading: () => <ChartsSkeleton />,
});

export function ServerPage({ initial }: { readonly initial: ServerDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const filter = useUrlFilter('range');
  const range = isRange(filter.value) ? filter.value : '15m';
  const server = useQuery(trpc.server.get.queryOptions({ serverId: initial.id })).data ?? initial;
  const metric = useQuery({
    ...trpc.metric.server.queryOptions({ serverId: server.id, range }),
    refetchInterval: refetchIntervalMs(range),
    placeholderData: keepPreviousData,
  });
  return (
    <LivePage topics={[{ kind: 'server', id: server.id }]}>
      <Page>
        <PageHeader
          breadcrumb={<Crumbs items={[{ title: 'Servers', href: paths.servers }]} />}
          title={server.name}
          pill={<LookPill look={serverLook[server.state]} />}
          actions={<ServerMenu server={server} />}
        />
        <div className="flex flex-col gap-6">
          <ServerUninstallNote server={server} />
          <ServerOfflineNote server={server} />
          <ServerDrainNote server={server} />
          <Warnings server={server} />
          <Card>
            <CardHeader
              title="Machine"
              action={
                <Segmented
                  label="Period"
                  value={range}
                  options={ranges}
                  onValueChange={(value) => filter.set(value === '15m' ? '' : value)}
                />
              }
            />
            <QueryView query={metric} skeleton={<ChartsSkeleton />}>
              {(data) => <ServerCharts server={server} range={range} metric={data} />}
            </QueryView>
          </Card>
          {server.disk === null ? null : <ServerDisk disk={server.disk} />}
          <ServerFacts server={server} />
          <ProxyForm server={server} />
        </div>
      </Page>
    </LivePage>
  );
}

const CLOCK_WARN_MS = 2000;

/** Warns about a nearly full disk, on which builds are refused before it is full. */
function diskWarning({ diskUsedBytes, diskTotalBytes }: ServerDetail): string | null {
  if (diskUsedBytes === null || !isDiskShort(diskUsedBytes, diskTotalBytes)) return null;
  const left = (diskTotalBytes ?? 0) - diskUsedBytes;
  return `Its disk has ${formatBytes(left)} left of ${formatBytes(diskTotalBytes)}. Fairlead deletes old artifacts, caches and logs itself. Free more space, or builds here are refused.`;
}

function Warnings({ server }: { readonly server: ServerDetail }) {
  // The agent's forecast comes first; without it, the free space decides.
  const disk = server.diskWarning ?? diskWarning(server);
  const warnings = [
    disk === null ? [] : [disk],
    server.refusedReason === null
      ? []
      : [`The agent rejected the newest desired state and keeps the last valid one: ${server.refusedReason}`],
    Math.abs(server.clockOffsetMs) > CLOCK_WARN_MS
      ? [
          `Its clock is ${(server.clockOffsetMs / 1000).toFixed(1)} s off. Charts are corrected. Set up time synchronization on the server.`,
        ]
      : [],
    // Complete sentences, each with its reason.
    server.host.isolationOff,
    server.network?.warnings ?? [],
  ].flat();
  if (warnings.length === 0) return null;
  return (
    <ul className="flex flex-col gap-2 rounded-card bg-warn-wash px-4 py-3">
      {warnings.map((warning) => (
        <li key={warning} className="flex gap-3">
          <span className="mt-1">
            <StateMark tone="warn" />
          </span>
          <span className="text-pretty">{warning}</span>
        </li>
      ))}
    </ul>
  );
}

function ChartsSkeleton() {
  return (
    <div className="grid grid-cols-1 gap-x-8 gap-y-6 px-4 pt-2 pb-4 lg:grid-cols-2">
      {['cpu', 'memory', 'network', 'disk'].map((name) => (
        <Skeleton key={name} className="h-[192px]" />
      ))}
    </div>
  );
}
