'use client';
// Server page: charts on a shared time axis, apps, facts from the agent, and proxy settings.
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { StateMark } from '@fairlead/ui/state-pill';
import { useQuery } from '@tanstack/react-query';
import { LivePage } from '../../api/live.tsx';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { useLiveServerFigures } from '../../common/app/use-live-figures.ts';
import { LookPill } from '../../common/deployment/state-view.tsx';
import { serverLook } from '../../common/deployment/states.ts';
import { diskOf } from '../../common/figure/figures.ts';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { BaseDomainCard } from './base-domain-card.tsx';
import { LocalCaCard } from './local-ca-card.tsx';
import { MachineCard } from './machine-card.tsx';
import { ProxyForm } from './proxy-form.tsx';
import { ServerAddresses } from './server-addresses.tsx';
import { ServerDisk } from './server-disk.tsx';
import { ServerDrainNote } from './server-drain-note.tsx';
import { ServerFacts } from './server-facts.tsx';
import { ServerMenu } from './server-menu.tsx';
import { ServerMoves } from './server-moves.tsx';
import { ServerOfflineNote } from './server-offline-note.tsx';
import { ServerUninstallNote } from './server-uninstall-note.tsx';

export function ServerPage({ initial }: { readonly initial: ServerDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const server = useQuery(trpc.server.get.queryOptions({ serverId: initial.id })).data ?? initial;
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
          <ServerMoves serverId={server.id} />
          <ServerMachine server={server} />
          <ServerFacts server={server} />
          <ServerAddresses server={server} />
          <BaseDomainCard server={server} />
          <ProxyForm server={server} />
          <LocalCaCard server={server} />
        </div>
      </Page>
    </LivePage>
  );
}

/** Warnings, charts and disk usage, which all read the same live sample. */
function ServerMachine({ server }: { readonly server: ServerDetail }) {
  const sample = useLiveServerFigures().get(server.id) ?? server;
  const disk = diskOf(sample.diskUsedBytes, sample.diskTotalBytes);
  return (
    <>
      <Warnings server={server} />
      <MachineCard server={server} />
      {server.disk === null || disk === null ? null : <ServerDisk disk={disk} usage={server.disk} />}
    </>
  );
}

const CLOCK_WARN_MS = 2000;

function Warnings({ server }: { readonly server: ServerDetail }) {
  const { formatFixed } = useFormats();
  const warnings = [
    server.diskWarning === null ? [] : [server.diskWarning],
    server.refusedReason === null
      ? []
      : [`The agent rejected the newest desired state and keeps the last valid one: ${server.refusedReason}`],
    Math.abs(server.clockOffsetMs) > CLOCK_WARN_MS
      ? [
          `Its clock is ${formatFixed(server.clockOffsetMs / 1000, 1)} s off. Charts are corrected. Set up time synchronization on the server.`,
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
