'use client';
// Lists benchmark runs, newest first, with filters in the URL; it can also open the start dialog.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { ChartSpline, Plus } from 'lucide-react';
import dynamic from 'next/dynamic';
import { type ReactNode, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { BenchmarkSummary } from '../../api/types.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import { benchmarkLook, outcomeLook } from '../../common/deployment/states.ts';
import { FilterBar } from '../../common/list/filter-bar.tsx';
import { activeFilters, useMenuFilter } from '../../common/list/list-filter.ts';
import { ListFooter } from '../../common/list/list-footer.tsx';
import { NoMatches } from '../../common/list/no-matches.tsx';
import { useAppFilter, useServerFilter } from '../../common/list/thing-filters.ts';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { replaceParams, useUrlFilter, useUrlSearch } from '../../common/page/use-url-state.ts';
import { ImportedMark } from './imported-mark.tsx';
import { benchmarkStates, runInput } from './run-filter.ts';
import { TagList } from './tag-list.tsx';

const ImportRunDialog = dynamic(() => import('./import-run-dialog.tsx').then((module) => module.ImportRunDialog), {
  ssr: false,
});
const StartDialog = dynamic(() => import('./start-dialog.tsx').then((module) => module.StartDialog), { ssr: false });

export function BenchmarkListPage() {
  const { can, paths } = useMe();
  const starting = useUrlFilter('start');
  const plan = useUrlFilter('plan');
  const [isImporting, setImporting] = useState(false);
  const start = can('benchmark.write') ? (
    <Button variant="accent" icon={<Plus size={16} aria-hidden="true" />} onClick={() => starting.set('1')}>
      Start benchmark
    </Button>
  ) : null;
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          title="Benchmarks"
          actions={
            <>
              <HoverLink href={paths.benchmarkPlans} className={buttonClass('plain')}>
                Plans
              </HoverLink>
              {can('benchmark.write') ? <Button onClick={() => setImporting(true)}>Import run</Button> : null}
              {start}
            </>
          }
        />
        <BenchmarkList start={start} />
      </Page>
      {isImporting ? <ImportRunDialog onClose={() => setImporting(false)} /> : null}
      {starting.value === '' ? null : (
        <StartDialog app={starting.value} plan={plan.value} onClose={() => replaceParams({ start: '', plan: '' })} />
      )}
    </OrganizationLive>
  );
}

function BenchmarkList({ start }: { readonly start: ReactNode }) {
  const trpc = useTRPC();
  const search = useUrlSearch();
  const tags = useQuery(trpc.benchmark.listFilters.queryOptions()).data?.tags ?? [];
  const state = useMenuFilter('state', {
    label: 'State',
    all: 'All states',
    options: benchmarkStates.map((each) => ({ value: each, label: benchmarkLook[each].label })),
  });
  const tag = useMenuFilter('tag', {
    label: 'Tag',
    all: 'All tags',
    options: tags.map((each) => ({ value: each, label: each })),
  });
  const menus = [state, useAppFilter(), useServerFilter(), tags.length === 0 && tag.value === '' ? null : tag];
  const filters = menus.filter((filter) => filter !== null);
  const values = new Map<string, string>(filters.map(({ name, value }) => [name, value]));
  const input = runInput((name) => (name === 'search' ? search.value : (values.get(name) ?? '')));
  const active = activeFilters(search.value, filters);
  const runs = useInfiniteQuery({
    ...trpc.benchmark.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <FilterBar search={{ ...search, label: 'Search benchmarks' }} filters={filters} />
      <Card>
        <QueryView query={runs} skeleton={<SkeletonRows rows={6} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            if (items.length === 0 && active.length > 0) return <NoMatches noun="benchmarks" active={active} />;
            return items.length === 0 ? (
              <EmptyState icon={<ChartSpline size={20} />} title="No benchmarks yet" action={start}>
                A benchmark sends requests to an app through the proxy and directly, in turns, and shows the cost of the
                proxy.
              </EmptyState>
            ) : (
              <>
                <BenchmarkRows runs={items} />
                <ListFooter
                  query={runs}
                  shown={items.length}
                  total={data.pages[0]?.total ?? null}
                  noun={['benchmark', 'benchmarks']}
                />
              </>
            );
          }}
        </QueryView>
      </Card>
    </>
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
        <HeadCell numeric>Best requests/s</HeadCell>
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
              {run.planName === null && run.tags.length === 0 ? null : (
                <span className="mt-1 flex flex-wrap items-center gap-1.5 text-xs">
                  {run.planName === null ? null : <span className="text-ink-soft">Plan {run.planName}</span>}
                  <TagList tags={run.tags} />
                </span>
              )}
            </Cell>
            <Cell>
              <LookText look={benchmarkLook[run.state]} />
              {run.origin === null ? null : (
                <span className="mt-1 block md:hidden">
                  <ImportedMark />
                </span>
              )}
              <Outcome run={run} />
              {run.state === 'running' ? (
                <span className="tabular ml-2 font-mono text-xs text-ink-faint">
                  {run.rowsDone}/{run.rowsTotal}
                </span>
              ) : null}
              {run.aheadInQueue === null ? null : (
                <span className="tabular ml-2 font-mono text-xs text-ink-faint" title="Position in the server's queue">
                  #{run.aheadInQueue + 1}
                </span>
              )}
            </Cell>
            <Cell className="whitespace-nowrap max-md:hidden">{run.serverName ?? <ImportedMark />}</Cell>
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
