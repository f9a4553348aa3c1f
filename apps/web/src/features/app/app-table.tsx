'use client';
// Table of the apps page: the columns that the reader chose, sortable, with a checkbox and a menu in each row. The live stream
// updates the figures.
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Sparkline } from '@fairlead/ui/sparkline';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { AppSummary } from '../../api/types.ts';
import { serversOf, trafficText } from '../../common/app/app-row.ts';
import { placementKey, useLiveAppFigures } from '../../common/app/use-live-figures.ts';
import { CommitLine } from '../../common/deployment/commit-line.tsx';
import { LookText } from '../../common/deployment/state-view.tsx';
import { appLook } from '../../common/deployment/states.ts';
import { listedP99 } from '../../common/figure/figures.ts';
import type { ColumnOption } from '../../common/list/columns.tsx';
import { RowMenuHead } from '../../common/list/row-menu.tsx';
import { type ListSort, SortHead } from '../../common/list/sort.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { AppRowMenu, useAppRowCalls } from './app-row-menu.tsx';
import type { AppSort } from './filter.ts';
import type { Selection } from './use-selection.ts';

export type AppColumn =
  | 'state'
  | 'environment'
  | 'project'
  | 'server'
  | 'branch'
  | 'deployment'
  | 'traffic'
  | 'requests'
  | 'errors'
  | 'p99';

export const appColumns: readonly ColumnOption<AppColumn>[] = [
  { name: 'state', label: 'State' },
  { name: 'environment', label: 'Environment', isHiddenFirst: true },
  { name: 'project', label: 'Project', isHiddenFirst: true },
  { name: 'server', label: 'Server', isHiddenFirst: true },
  { name: 'branch', label: 'Branch', isHiddenFirst: true },
  { name: 'deployment', label: 'Last deployment' },
  { name: 'traffic', label: 'Requests, 30 min' },
  { name: 'requests', label: 'Requests/s' },
  { name: 'errors', label: 'Errors/s' },
  { name: 'p99', label: 'p99' },
];

export interface AppTableProps {
  readonly apps: readonly AppSummary[];
  readonly sort: ListSort<AppSort>;
  readonly isShown: (column: AppColumn) => boolean;
  readonly selection: Selection<AppSummary>;
}

export function AppTable({ apps, sort, isShown, selection }: AppTableProps) {
  const live = useLiveAppFigures();
  const calls = useAppRowCalls();
  const { canAnywhere } = useMe();
  const hasChecks = canAnywhere('deployment.write');
  return (
    <Table>
      <TableHead>
        {hasChecks ? (
          <HeadCell className="w-0 pr-0 max-sm:hidden">
            <CheckAll apps={apps} selection={selection} />
          </HeadCell>
        ) : null}
        <SortHead by="name" list={sort} className={isShown('deployment') ? '' : 'w-full'}>
          App
        </SortHead>
        {isShown('state') ? <HeadCell className="max-sm:hidden">State</HeadCell> : null}
        {isShown('environment') ? <HeadCell className="max-md:hidden">Environment</HeadCell> : null}
        {isShown('project') ? <HeadCell className="max-md:hidden">Project</HeadCell> : null}
        {isShown('server') ? <HeadCell className="max-md:hidden">Server</HeadCell> : null}
        {isShown('branch') ? <HeadCell className="max-md:hidden">Branch</HeadCell> : null}
        {isShown('deployment') ? (
          <SortHead by="last_deployment" list={sort} className="max-lg:hidden">
            Last deployment
          </SortHead>
        ) : null}
        {isShown('traffic') ? <HeadCell className="max-md:hidden">Requests, 30 min</HeadCell> : null}
        {isShown('requests') ? (
          <SortHead by="requests" list={sort} numeric>
            Requests/s
          </SortHead>
        ) : null}
        {isShown('errors') ? (
          <SortHead by="errors" list={sort} numeric className="max-sm:hidden">
            Errors/s
          </SortHead>
        ) : null}
        {isShown('p99') ? (
          <SortHead by="p99" list={sort} numeric className="max-sm:hidden">
            p99
          </SortHead>
        ) : null}
        <RowMenuHead />
      </TableHead>
      <tbody>
        {apps.map((app) => (
          <AppRow
            key={app.id}
            app={app}
            now={live.get(placementKey(app.id, app.environmentId))}
            isShown={isShown}
            selection={hasChecks ? selection : null}
            calls={calls}
          />
        ))}
      </tbody>
    </Table>
  );
}

interface AppRowProps {
  readonly app: AppSummary;
  readonly now: ReturnType<ReturnType<typeof useLiveAppFigures>['get']>;
  readonly isShown: (column: AppColumn) => boolean;
  /** Null for readers who may restart no app. */
  readonly selection: Selection<AppSummary> | null;
  readonly calls: ReturnType<typeof useAppRowCalls>;
}

function AppRow({ app, now, isShown, selection, calls }: AppRowProps) {
  const formats = useFormats();
  const { formatCount, formatMs } = formats;
  const { paths, can } = useMe();
  const p99Ms = listedP99(app, now);
  return (
    <Row>
      {selection === null ? null : (
        <Cell className="w-0 pr-0 max-sm:hidden">
          {can('deployment.write', app) ? (
            <input
              type="checkbox"
              aria-label={`Select ${app.name}`}
              checked={selection.has(app.id)}
              disabled={selection.isFull && !selection.has(app.id)}
              onChange={() => selection.toggle(app)}
              className="relative z-10 block size-4 accent-accent"
            />
          ) : null}
        </Cell>
      )}
      <Cell className="w-full max-w-0 sm:w-auto sm:min-w-48 sm:max-w-60">
        <HoverLink href={paths.app(app.slug, app.isPrimary ? undefined : app.environmentId)} {...rowLink}>
          {app.name}
        </HoverLink>
        <span className="block truncate text-sm text-ink-faint">
          <span className="mr-1.5 sm:hidden">
            <LookText look={appLook[app.status]} />
          </span>
          <span className="max-sm:hidden">{app.hosts[0] ?? serversOf(app)}</span>
        </span>
      </Cell>
      {isShown('state') ? (
        <Cell className="max-sm:hidden">
          <LookText look={appLook[app.status]} />
        </Cell>
      ) : null}
      {isShown('environment') ? <Cell className="max-w-40 truncate max-md:hidden">{app.environmentName}</Cell> : null}
      {isShown('project') ? <Cell className="max-w-40 truncate max-md:hidden">{app.projectName}</Cell> : null}
      {isShown('server') ? <Cell className="max-w-40 truncate max-md:hidden">{serversOf(app)}</Cell> : null}
      {isShown('branch') ? (
        <Cell className="max-w-40 truncate font-mono text-xs max-md:hidden">{app.branch || 'default branch'}</Cell>
      ) : null}
      {isShown('deployment') ? (
        <Cell className="w-full max-w-0 max-lg:hidden">
          {app.lastDeployment === null ? (
            <span className="text-ink-faint">Never deployed</span>
          ) : (
            <>
              <CommitLine hash={app.lastDeployment.commitHash} subject={app.lastDeployment.commitSubject} />
              <RelativeTime at={app.lastDeployment.queuedAt} className="block text-sm text-ink-faint" />
            </>
          )}
        </Cell>
      ) : null}
      {isShown('traffic') ? (
        <Cell className="max-md:hidden">
          <Sparkline values={app.sparkline} label={trafficText(app, formats)} width={112} height={26} />
        </Cell>
      ) : null}
      {isShown('requests') ? (
        <Cell numeric className="min-w-16">
          {formatCount(now?.requestsPerSecond ?? app.requestsPerSecond)}
        </Cell>
      ) : null}
      {isShown('errors') ? (
        <Cell numeric className="min-w-20 max-sm:hidden">
          <ErrorRate perSecond={now?.errorsPerSecond ?? app.errorsPerSecond} />
        </Cell>
      ) : null}
      {isShown('p99') ? (
        <Cell numeric className="min-w-20 max-sm:hidden">
          {formatMs(p99Ms)}
        </Cell>
      ) : null}
      <AppRowMenu app={app} calls={calls} />
    </Row>
  );
}

function ErrorRate({ perSecond }: { readonly perSecond: number }) {
  const { formatCount } = useFormats();
  return <span className={perSecond > 0 ? 'text-bad-text' : undefined}>{formatCount(perSecond)}</span>;
}

function CheckAll({ apps, selection }: Pick<AppTableProps, 'apps' | 'selection'>) {
  const { can } = useMe();
  const allowed = apps.filter((app) => can('deployment.write', app));
  const chosen = allowed.filter(({ id }) => selection.has(id)).length;
  return (
    <input
      ref={(box) => {
        if (box !== null) box.indeterminate = chosen > 0 && chosen < allowed.length;
      }}
      type="checkbox"
      aria-label="Select all apps shown"
      checked={chosen > 0 && chosen === allowed.length}
      onChange={() => (chosen > 0 ? selection.clear() : selection.add(allowed))}
      className="block size-4 accent-accent"
    />
  );
}
