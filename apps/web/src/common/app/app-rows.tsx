'use client';
// Table of apps: state, traffic of the last half hour, p99 and last deployment. The live stream updates the figures.
import { formatCount, formatMs } from '@fairlead/ui/lib/format';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Sparkline } from '@fairlead/ui/sparkline';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { AppSummary } from '../../api/types.ts';
import { CommitLine } from '../deployment/commit-line.tsx';
import { LookText } from '../deployment/state-view.tsx';
import { appLook } from '../deployment/states.ts';
import { useMe } from '../organization/me.tsx';
import { HoverLink } from '../page/hover-link.tsx';
import { placementKey, useLiveAppFigures } from './use-live-figures.ts';

/** Refetch interval in milliseconds of a list with an app on several servers. */
const REREAD_EVERY_MS = 10_000;

/**
 * Returns the refetch interval of the query behind the rows. The stream has each server's own samples, from which no
 * overall quantile follows.
 */
export function refetchInterval(apps: readonly AppSummary[] | undefined): number | false {
  return apps?.some(({ serverCount }) => serverCount > 1) === true ? REREAD_EVERY_MS : false;
}

export function AppRows({ apps }: { readonly apps: readonly AppSummary[] }) {
  const { paths } = useMe();
  const live = useLiveAppFigures();
  return (
    <Table>
      <TableHead>
        <HeadCell>App</HeadCell>
        <HeadCell className="max-sm:hidden">State</HeadCell>
        <HeadCell className="max-lg:hidden">Last deployment</HeadCell>
        <HeadCell className="max-md:hidden">Requests, 30 min</HeadCell>
        <HeadCell numeric>req/s</HeadCell>
        <HeadCell numeric>p99</HeadCell>
      </TableHead>
      <tbody>
        {apps.map((app) => {
          const now = live.get(placementKey(app.id, app.environmentId));
          // With several servers, p99 comes from the query, which merges their histograms.
          const p99Ms = (app.serverCount === 1 && now?.latency ? now.latency : app).p99Ms;
          return (
            <Row key={app.id}>
              <Cell className="w-full max-w-0 sm:w-auto sm:max-w-60">
                <HoverLink href={paths.app(app.slug)} {...rowLink}>
                  {app.name}
                </HoverLink>
                <span className="block truncate text-sm text-ink-faint">
                  <span className="mr-1.5 sm:hidden">
                    <LookText look={appLook[app.status]} />
                  </span>
                  <span className="max-sm:hidden">{app.hosts[0] ?? serversOf(app)}</span>
                </span>
              </Cell>
              <Cell className="max-sm:hidden">
                <LookText look={appLook[app.status]} />
              </Cell>
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
              <Cell className="max-md:hidden">
                <Sparkline values={app.sparkline} label={trafficText(app)} width={112} height={26} />
              </Cell>
              <Cell numeric>{formatCount(now?.requestsPerSecond ?? app.requestsPerSecond)}</Cell>
              <Cell numeric className="min-w-20">
                {formatMs(p99Ms)}
              </Cell>
            </Row>
          );
        })}
      </tbody>
    </Table>
  );
}

function serversOf({ serverName, serverCount }: AppSummary): string {
  return serverCount === 1 ? serverName : `${serverName} and ${serverCount - 1} more`;
}

function trafficText(app: AppSummary): string {
  const peak = Math.max(0, ...app.sparkline);
  return peak === 0 ? 'No requests in the last 30 minutes' : `At most ${formatCount(peak)} requests/s`;
}
