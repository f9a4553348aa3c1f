'use client';
// Table of servers with small gauges that follow the live stream, and a menu in each row.
import type { ServerSample } from '@fairlead/contract/live';
import { useFormats } from '@fairlead/ui/formats';
import { MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { Meter } from '@fairlead/ui/meter';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText, type Tone } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { History, LogOut, Server, SquareStack, Trash2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import type { ServerSummary } from '../../api/types.ts';
import { useLiveServerFigures } from '../../common/app/use-live-figures.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import { serverLook } from '../../common/deployment/states.ts';
import type { ColumnOption } from '../../common/list/columns.tsx';
import { RowMenuCell, RowMenuHead } from '../../common/list/row-menu.tsx';
import { type ListSort, SortHead } from '../../common/list/sort.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { gaugesOf } from '../../common/server/server-card.tsx';
import type { ServerSort } from './filter.ts';
import { DrainDialog, RemoveServerDialog } from './server-dialogs.ts';

export type ServerColumn = 'cpu' | 'memory' | 'disk' | 'apps' | 'system' | 'agent' | 'seen';

export const serverColumns: readonly ColumnOption<ServerColumn>[] = [
  { name: 'cpu', label: 'CPU' },
  { name: 'memory', label: 'Memory' },
  { name: 'disk', label: 'Disk' },
  { name: 'apps', label: 'Apps' },
  { name: 'system', label: 'System' },
  { name: 'agent', label: 'Agent', isHiddenFirst: true },
  { name: 'seen', label: 'Last seen', isHiddenFirst: true },
];

/** Columns with a gauge, in the order of `gaugesOf`. */
const GAUGES = ['cpu', 'memory', 'disk'] as const;

export interface ServerTableProps {
  readonly servers: readonly ServerSummary[];
  readonly sort: ListSort<ServerSort>;
  readonly isShown: (column: ServerColumn) => boolean;
}

interface Asked {
  readonly dialog: 'drain' | 'remove';
  readonly server: ServerSummary;
}

export function ServerTable(props: ServerTableProps) {
  const [asked, setAsked] = useState<Asked | null>(null);
  // The list has newer facts, unless a filter hides the server by now.
  const server = props.servers.find(({ id }) => id === asked?.server.id) ?? asked?.server;
  const onClose = () => setAsked(null);
  return (
    <>
      <Servers {...props} onAsk={setAsked} />
      {server === undefined || asked?.dialog !== 'drain' ? null : (
        <DrainDialog server={server} open onClose={onClose} />
      )}
      {server === undefined || asked?.dialog !== 'remove' ? null : (
        <RemoveServerDialog server={server} open onClose={onClose} />
      )}
    </>
  );
}

function Servers({ servers, sort, isShown, onAsk }: ServerTableProps & { readonly onAsk: (asked: Asked) => void }) {
  const figures = useLiveServerFigures();
  return (
    <Table>
      <TableHead>
        <SortHead by="name" list={sort} className="w-full">
          Server
        </SortHead>
        <SortHead by="state" list={sort}>
          State
        </SortHead>
        {GAUGES.map((name) =>
          isShown(name) ? (
            <SortHead key={name} by={name} list={sort} className="max-md:hidden">
              {name === 'cpu' ? 'CPU' : name === 'memory' ? 'Memory' : 'Disk'}
            </SortHead>
          ) : null,
        )}
        {isShown('apps') ? (
          <SortHead by="apps" list={sort} numeric className="max-sm:hidden">
            Apps
          </SortHead>
        ) : null}
        {isShown('system') ? <HeadCell className="max-lg:hidden">System</HeadCell> : null}
        {isShown('agent') ? <HeadCell className="max-lg:hidden">Agent</HeadCell> : null}
        {isShown('seen') ? (
          <SortHead by="last_seen" list={sort} numeric className="max-lg:hidden">
            Last seen
          </SortHead>
        ) : null}
        <RowMenuHead />
      </TableHead>
      <tbody>
        {servers.map((server) => (
          <ServerRow
            key={server.id}
            server={server}
            sample={figures.get(server.id)}
            isShown={isShown}
            onAsk={(dialog) => onAsk({ dialog, server })}
          />
        ))}
      </tbody>
    </Table>
  );
}

interface ServerRowProps {
  readonly server: ServerSummary;
  readonly sample: ServerSample | undefined;
  readonly isShown: (column: ServerColumn) => boolean;
  readonly onAsk: (dialog: Asked['dialog']) => void;
}

function ServerRow({ server, sample, isShown, onAsk }: ServerRowProps) {
  const formats = useFormats();
  const { paths } = useMe();
  const gauges = gaugesOf(server, sample, formats);
  const { host } = server;
  return (
    <Row>
      <Cell className="w-full max-w-0">
        <HoverLink href={paths.server(server.id)} {...rowLink}>
          {server.name}
        </HoverLink>
        <span className="flex min-w-0 flex-wrap gap-x-3 text-sm text-ink-faint">
          {host.hostname !== '' && host.hostname !== server.name ? (
            <span className="min-w-0 truncate font-mono text-xs leading-5">{host.hostname}</span>
          ) : null}
          <Marks server={server} />
        </span>
      </Cell>
      <Cell className="whitespace-nowrap">
        <LookText look={serverLook[server.state]} />
      </Cell>
      {GAUGES.map((name, index) => {
        const gauge = gauges[index];
        return gauge !== undefined && isShown(name) ? (
          <Cell key={name} className="min-w-28 max-md:hidden">
            <Meter label={gauge.label} share={gauge.share} text={gauge.text} isLabelHidden />
          </Cell>
        ) : null;
      })}
      {isShown('apps') ? (
        <Cell numeric className="max-sm:hidden">
          {server.appCount}
        </Cell>
      ) : null}
      {isShown('system') ? (
        <Cell className="max-w-48 truncate whitespace-nowrap text-sm text-ink-soft max-lg:hidden">
          {host.cpuCount > 0 ? `${host.cpuCount} cores · ${formats.formatBytes(host.memoryBytes)}` : ''}
          <span className="block truncate text-ink-faint">{host.os}</span>
        </Cell>
      ) : null}
      {isShown('agent') ? (
        <Cell className="whitespace-nowrap font-mono text-xs max-lg:hidden">{server.agentVersion || '–'}</Cell>
      ) : null}
      {isShown('seen') ? (
        <Cell numeric className="max-lg:hidden">
          {server.lastSeenAt === null ? '–' : <RelativeTime at={server.lastSeenAt} className="font-sans" />}
        </Cell>
      ) : null}
      <ServerRowMenu server={server} onAsk={onAsk} />
    </Row>
  );
}

function Marks({ server }: Pick<ServerRowProps, 'server'>) {
  const { offeredAgent, upgrade, drainedAt, diskWarning } = server;
  const agent: readonly [Tone, string] | null =
    upgrade?.state === 'running'
      ? ['busy', 'Agent upgrading']
      : offeredAgent === null
        ? null
        : upgrade?.state === 'failed'
          ? ['bad', 'Agent upgrade failed']
          : ['idle', 'Agent upgrade available'];
  return (
    <>
      {diskWarning === null ? null : <StateText tone="warn">Low disk space</StateText>}
      {drainedAt === null ? null : <StateText tone="warn">Drained</StateText>}
      {agent === null ? null : <StateText tone={agent[0]}>{agent[1]}</StateText>}
    </>
  );
}

interface ServerRowMenuProps {
  readonly server: ServerSummary;
  readonly onAsk: (dialog: Asked['dialog']) => void;
}

function ServerRowMenu({ server, onAsk }: ServerRowMenuProps) {
  const { paths, can } = useMe();
  const router = useRouter();
  const mayDrain = can('server.write') && server.drainedAt === null;
  const mayDelete = can('server.delete') && !server.isLocal;
  return (
    <RowMenuCell name={server.name}>
      <MenuItem icon={<Server size={15} />} onSelect={() => router.push(paths.server(server.id))}>
        Open
      </MenuItem>
      <MenuItem icon={<SquareStack size={15} />} onSelect={() => router.push(`${paths.apps}?server=${server.id}`)}>
        Apps
      </MenuItem>
      <MenuItem icon={<History size={15} />} onSelect={() => router.push(`${paths.deployments}?server=${server.id}`)}>
        Deployments
      </MenuItem>
      {mayDrain || mayDelete ? <MenuSeparator /> : null}
      {mayDrain ? (
        <MenuItem icon={<LogOut size={15} />} onSelect={() => onAsk('drain')}>
          Drain server
        </MenuItem>
      ) : null}
      {mayDelete ? (
        <MenuItem icon={<Trash2 size={15} />} danger onSelect={() => onAsk('remove')}>
          Remove server
        </MenuItem>
      ) : null}
    </RowMenuCell>
  );
}
