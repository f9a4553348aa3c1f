'use client';
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { useInfiniteQuery } from '@tanstack/react-query';
import { ChartSpline, Plus } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useTRPC } from '../../api/trpc.tsx';
import type { BenchmarkSummary } from '../../api/types.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import { benchmarkLook, outcomeLook } from '../../common/deployment/states.ts';
import { useMe } from '../../common/organization/me.tsx';
// Lists benchmark runs, newest first; the URL can open the start dialog.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';

const StartDialog = dynamic(() => import('./start-dialog.tsx').then((module) => module.StartDialog), { ssr: false });

export function BenchmarkListPage() {
  const { can } = useMe();
  const trpc = useTRPC();
  const starting = useUrlFilter('start');
  const runs = useInfiniteQuery(
    trpc.benchmark.list.infiniteQueryOptions({}, { getNextPageParam: (page) => page.nextCursor }),
  );
  const start = can('benchmark.write') ? (
    <Button variant="accent" icon={<Plus size={16} aria-hidden="true" />} onClick={() => starting.set('1')}>
      Start benchmark
    </Button>
  ) : null;
  return (
    <OrganizationLive>
      <Page>
        <PageHeader title="Benchmarks" actions={start} />
        <Card>
          <QueryView query={runs} skeleton={<SkeletonRows rows={6} />}>
            {(data) => {
              const items = data.pages.flatMap((page) => page.items);
              return items.length === 0 ? (
                <EmptyState icon={<ChartSpline size={20} />} title="No benchmarks yet" action={start}>
                  A benchmark sends requests to an app through the proxy and directly, in turns, and shows the cost of
                  the proxy.
                </EmptyState>
              ) : (
                <>
                  <BenchmarkRows runs={items} />
                  <LoadMore query={runs} />
                </>
              );
            }}
          </QueryView>
        </Card>
      </Page>
      {starting.value === '' ? null : <StartDialog app={starting.value} onClose={() => starting.set('')} />}
    </OrganizationLive>
  );
}

function BenchmarkRows({ runs }: { readonly runs: readonly BenchmarkSummary[] }) {
  const { formatCount, formatMs } = useFormats();
  const { paths } = useMe();
  return (
    <Table>
      <TableHead>
        <HeadCell>App</HeadCell>
        <HeadCell>State</HeadCell>
        <HeadCell className="max-md:hidden">Server</HeadCell>
        <HeadCell numeric>Best req/s</HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          p99
        </HeadCell>
        <HeadCell numeric className="max-sm:hidden">
          Started
        </HeadCell>
      </TableHead>
      <tbody>
        {runs.map((run) => (
          <Row key={run.id}>
            <Cell className="w-full max-w-0">
              <HoverLink href={paths.benchmark(run.id)} {...rowLink}>
                {run.appName}
              </HoverLink>
              <span className="block truncate font-mono text-xs text-ink-faint">
                {run.plan.host}
                {run.plan.path}
              </span>
            </Cell>
            <Cell>
              <LookText look={benchmarkLook[run.state]} />
              <Outcome run={run} />
              {run.state === 'running' ? (
                <span className="tabular ml-2 font-mono text-xs text-ink-faint">
                  {run.rowsDone}/{run.rowsTotal}
                </span>
              ) : null}
            </Cell>
            <Cell className="whitespace-nowrap max-md:hidden">{run.serverName}</Cell>
            <Cell numeric>{run.bestRequestsPerSecond === null ? '–' : formatCount(run.bestRequestsPerSecond)}</Cell>
            <Cell numeric className="max-sm:hidden">
              {formatMs(run.bestP99Ms)}
            </Cell>
            <Cell numeric className="max-sm:hidden">
              <RelativeTime at={run.createdAt} className="font-sans text-ink-soft" />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}

/** Outcome of the thresholds, if the run has any. */
function Outcome({ run }: { readonly run: BenchmarkSummary }) {
  const look = outcomeLook[run.outcome];
  return look === null ? null : <LookText look={{ ...look, label: `Thresholds ${look.label.toLowerCase()}` }} />;
}
