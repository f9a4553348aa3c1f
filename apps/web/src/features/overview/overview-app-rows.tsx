'use client';
import { useFormats } from '@fairlead/ui/formats';
// Table of the latest apps: state, last deployment, and the traffic of the last half hour with its error rate and p95.
import { cn } from '@fairlead/ui/lib/class-names';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Sparkline } from '@fairlead/ui/sparkline';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { Overview } from '../../api/types.ts';
import { serversOf, trafficText } from '../../common/app/app-row.ts';
import { CommitLine } from '../../common/deployment/commit-line.tsx';
import { LookText } from '../../common/deployment/state-view.tsx';
import { appLook, nameOfRequester } from '../../common/deployment/states.ts';
import { recentFigures } from '../../common/figure/figures.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { formatShare } from './total-text.ts';

type App = Overview['apps'][number];

export function OverviewAppRows({ apps }: { readonly apps: readonly App[] }) {
  return (
    <Table>
      <TableHead>
        <HeadCell>App</HeadCell>
        <HeadCell className="max-sm:hidden">State</HeadCell>
        <HeadCell className="max-lg:hidden">Last deployment</HeadCell>
        <HeadCell className="max-md:hidden">Requests/s, 30 min</HeadCell>
        <HeadCell numeric>
          <span className="sm:hidden">Errors</span>
          <span className="max-sm:hidden">Error rate</span>
        </HeadCell>
        <HeadCell numeric>p95</HeadCell>
      </TableHead>
      <tbody>
        {apps.map((app) => (
          <AppRow key={app.id} app={app} />
        ))}
      </tbody>
    </Table>
  );
}

function AppRow({ app }: { readonly app: App }) {
  const formats = useFormats();
  const { paths } = useMe();
  const { peakPerSecond, errorShare, isFailing, p95Ms } = recentFigures(app);
  return (
    <Row>
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
        <LastDeployment app={app} />
      </Cell>
      <Cell className="max-md:hidden">
        <Traffic app={app} peak={peakPerSecond} />
      </Cell>
      <Cell numeric className={cn(isFailing && 'text-bad-text')}>
        {formatShare(errorShare, formats)}
      </Cell>
      <Cell numeric className="min-w-20">
        {formats.formatMs(p95Ms)}
      </Cell>
    </Row>
  );
}

function LastDeployment({ app: { lastDeployment, deployedBy } }: { readonly app: App }) {
  if (lastDeployment === null) return <span className="text-ink-faint">Never deployed</span>;
  return (
    <>
      <CommitLine hash={lastDeployment.commitHash} subject={lastDeployment.commitSubject} />
      <span className="block truncate text-sm text-ink-faint">
        {deployedBy === null ? null : `By ${nameOfRequester(deployedBy)}, `}
        <RelativeTime at={lastDeployment.queuedAt} />
      </span>
    </>
  );
}

/** Sparkline with its scale: the rate at its highest point, and zero at its base. */
function Traffic({ app, peak }: { readonly app: App; readonly peak: number }) {
  const formats = useFormats();
  return (
    <span className="flex items-stretch gap-2">
      <Sparkline values={app.sparkline} label={trafficText(app, formats)} width={128} height={28} />
      <span
        aria-hidden="true"
        className="tabular flex w-10 flex-col justify-between font-mono text-ink-faint text-xs leading-none"
      >
        {peak === 0 ? (
          <span className="mt-auto">–</span>
        ) : (
          <>
            <span>{formats.formatCount(peak)}</span>
            <span>0</span>
          </>
        )}
      </span>
    </span>
  );
}
