'use client';
// Comparison of a benchmark run with an earlier or a later one, which the URL names.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useClockFormats } from '@fairlead/ui/clock-formats';
import { useFormats } from '@fairlead/ui/formats';
import { Select } from '@fairlead/ui/input';
import { cn } from '@fairlead/ui/lib/class-names';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { BenchmarkDetail, BenchmarkSummary } from '../../api/types.ts';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlFilter } from '../../common/page/use-url-state.ts';
import { type Change, type ComparedCell, compareFacts, compareRows } from './comparison.ts';
import { protocolLabel, targetLabel } from './results.ts';

const RUNS_SHOWN = 100;

export function CompareCard({ run }: { readonly run: BenchmarkDetail }) {
  const { formatShortTime } = useClockFormats();
  const trpc = useTRPC();
  const baseline = useUrlFilter('baseline');
  const runs = useQuery(trpc.benchmark.list.queryOptions({ limit: RUNS_SHOWN })).data?.items ?? [];
  const others = sameAppFirst(
    runs.filter(({ id, rowsDone }) => id !== run.id && rowsDone > 0),
    run,
  );
  if (others.length === 0 && baseline.value === '') return null;
  const measured = others.filter(({ origin }) => origin === null);
  const imported = others.filter(({ origin }) => origin !== null);
  const nameOf = ({ appName, facts, createdAt }: BenchmarkSummary) =>
    `${appName}${facts?.release ? ` #${facts.release.number}` : ''}, ${formatShortTime(createdAt)}`;
  const optionOf = (other: BenchmarkSummary) => (
    <option key={other.id} value={other.id}>
      {nameOf(other)}
    </option>
  );
  return (
    <Card>
      <CardHeader
        title="Comparison"
        action={
          <Select
            aria-label="Compare with"
            value={baseline.value}
            onChange={(event) => baseline.set(event.target.value)}
            className="max-w-72"
          >
            <option value="">Choose a run</option>
            {measured.map(optionOf)}
            {imported.length === 0 ? null : <optgroup label="Imported">{imported.map(optionOf)}</optgroup>}
          </Select>
        }
      />
      {baseline.value === '' ? (
        <p className="border-line border-t px-4 py-4 text-ink-soft">
          Choose another run, for instance of the release before, to see what changed.
        </p>
      ) : (
        <Comparison run={run} baselineId={baseline.value} />
      )}
    </Card>
  );
}

function sameAppFirst(runs: readonly BenchmarkSummary[], { appId }: BenchmarkDetail): BenchmarkSummary[] {
  return runs.toSorted((one, other) => Number(other.appId === appId) - Number(one.appId === appId));
}

interface ComparisonProps {
  readonly run: BenchmarkDetail;
  readonly baselineId: string;
}

function Comparison({ run, baselineId }: ComparisonProps) {
  const trpc = useTRPC();
  const query = useQuery(trpc.benchmark.get.queryOptions({ runId: baselineId }));
  return (
    <QueryView query={query} skeleton={<SkeletonRows rows={4} />}>
      {(baseline) => {
        const cells = compareRows(baseline.rows, run.rows);
        return (
          <div className="border-line border-t">
            <FactChanges before={baseline} after={run} />
            {cells.length === 0 ? (
              <p className="px-4 py-4 text-ink-soft">
                The runs have no cell in common: none with the same protocol, concurrency, target and network path.
              </p>
            ) : (
              <ComparedCells cells={cells} />
            )}
          </div>
        );
      }}
    </QueryView>
  );
}

function FactChanges({ before, after }: { readonly before: BenchmarkDetail; readonly after: BenchmarkDetail }) {
  const changes = compareFacts(before, after);
  return (
    <p className="px-4 py-3 text-ink-soft text-sm">
      {changes.length === 0
        ? 'Same release, settings, agent, machine and load. A difference is noise or comes from other work on the server.'
        : `Also different: ${changes.map(({ term, before, after }) => `${term.toLowerCase()} (${before} to ${after})`).join(', ')}.`}
    </p>
  );
}

function ComparedCells({ cells }: { readonly cells: readonly ComparedCell[] }) {
  const { formatFixed, formatInteger, formatMs } = useFormats();
  return (
    <Table scrollLabel="Comparison">
      <TableHead>
        <HeadCell>Protocol</HeadCell>
        <HeadCell numeric>Concurrency</HeadCell>
        <HeadCell>Target</HeadCell>
        <HeadCell numeric>Requests/s</HeadCell>
        <HeadCell numeric>p99</HeadCell>
        <HeadCell numeric>CPU µs/request</HeadCell>
      </TableHead>
      <tbody>
        {cells.map((cell) => (
          <tr key={cell.key} className="border-line border-b last:border-b-0">
            <Cell className="whitespace-nowrap">{protocolLabel[cell.protocol]}</Cell>
            <Cell numeric>{cell.concurrency}</Cell>
            <Cell className="whitespace-nowrap">{targetLabel[cell.target]}</Cell>
            <ChangeCell change={cell.throughput} format={formatInteger} />
            <ChangeCell change={cell.p99} format={formatMs} />
            <ChangeCell change={cell.cpu} format={(value) => formatFixed(value, 1)} />
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

interface ChangeCellProps {
  readonly change: Change | null;
  readonly format: (value: number) => string;
}

const VERDICTS = {
  better: { word: 'better', className: 'text-ok-text' },
  worse: { word: 'worse', className: 'text-bad-text' },
  none: { word: 'within the noise', className: 'text-ink-faint' },
  unknown: { word: 'too few rounds', className: 'text-ink-faint' },
} as const satisfies Record<Change['verdict'], { readonly word: string; readonly className: string }>;

function ChangeCell({ change, format }: ChangeCellProps) {
  const { formatRatio } = useFormats();
  if (change === null) return <Cell numeric>–</Cell>;
  const { before, after, ratio, verdict } = change;
  const { word, className } = VERDICTS[verdict];
  return (
    <Cell numeric>
      <span className="text-ink-faint">{format(before)} → </span>
      {format(after)}
      <span className={cn('block text-xs', className)}>
        {ratio === null
          ? word
          : `${formatRatio(ratio.median)} (${formatRatio(ratio.low)} to ${formatRatio(ratio.high)}), ${word}`}
      </span>
    </Cell>
  );
}
