// Table of measured cells, each with its ratio to the direct cell of the same network path.

import type { Interval } from '@fairlead/core/benchmark/statistics';
import { useFormats } from '@fairlead/ui/formats';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import {
  generatorCores,
  networkPathLabel,
  pathOf,
  phaseLabel,
  probeLabel,
  protocolLabel,
  type ResultRow,
  summariseRows,
  targetColor,
  targetLabel,
} from './results.ts';
import { Saturated } from './saturated.tsx';

/** The target stays in view while the figures scroll below it. */
const STICKY = 'sticky left-0 z-10 bg-surface max-md:shadow-[inset_-1px_0_var(--line)]';

export function ResultTable({ rows }: { readonly rows: readonly ResultRow[] }) {
  const { formatFixed, formatInteger, formatPercent, formatRatio } = useFormats();
  const hasPhases = rows.some(({ phase }) => phase !== null);
  const hasProbes = rows.some(({ probe }) => probe !== null);
  const hasGenerator = rows.some((row) => generatorCores(row) !== null);
  const hasNoise = rows.some(({ noise }) => noise !== null);
  const hasSteal = rows.some(({ noise }) => noise !== null && noise.stealUs > 0);
  const share = (value: number | null) => (value === null ? '' : formatPercent(value));
  // A column of equal cells would push the figures off a phone's screen.
  const path = pathOf(rows);
  const hasPaths = path === null;
  // Load servers send nothing directly, so there is nothing to compare with.
  const hasRatios = path !== 'between-servers';
  return (
    <Table scrollLabel="Results">
      <TableHead>
        <HeadCell className={STICKY}>Target</HeadCell>
        <HeadCell numeric>Concurrency</HeadCell>
        {hasPhases ? <HeadCell>Phase</HeadCell> : null}
        {hasProbes ? <HeadCell>Probe</HeadCell> : null}
        {hasPaths ? <HeadCell>Network path</HeadCell> : null}
        <HeadCell numeric>Requests/s</HeadCell>
        {hasRatios ? <HeadCell numeric>Ratio</HeadCell> : null}
        <HeadCell numeric>p50 ms</HeadCell>
        <HeadCell numeric>p90 ms</HeadCell>
        <HeadCell numeric>p99 ms</HeadCell>
        <HeadCell numeric>Success</HeadCell>
        <HeadCell numeric>Errors</HeadCell>
        <HeadCell numeric>
          <Wrapped>CPU µs/request</Wrapped>
        </HeadCell>
        <HeadCell numeric>
          <Wrapped>Memory MiB</Wrapped>
        </HeadCell>
        {hasGenerator ? (
          <HeadCell numeric>
            <Wrapped>Generator cores</Wrapped>
          </HeadCell>
        ) : null}
        {hasNoise ? (
          <HeadCell numeric>
            <Wrapped>Other CPU</Wrapped>
          </HeadCell>
        ) : null}
        {hasSteal ? <HeadCell numeric>Steal</HeadCell> : null}
      </TableHead>
      <tbody>
        {summariseRows(rows).map((line) => (
          <tr key={line.key} className="border-line border-b last:border-b-0">
            <Cell className={`whitespace-nowrap ${STICKY}`}>
              <span
                aria-hidden="true"
                className="mr-2 inline-block h-0.5 w-3 rounded-full align-middle"
                style={{ background: targetColor[line.target] }}
              />
              {targetLabel[line.target]}
              <span className="block text-ink-faint text-xs">{protocolLabel[line.protocol]}</span>
            </Cell>
            <Cell numeric>{line.concurrency}</Cell>
            {hasPhases ? <Cell>{line.phase === null ? '' : phaseLabel[line.phase]}</Cell> : null}
            {hasProbes ? (
              <Cell className="whitespace-nowrap">{line.probe === null ? '' : probeLabel[line.probe]}</Cell>
            ) : null}
            {hasPaths ? (
              <Cell className="whitespace-nowrap">
                {line.networkPath === null ? '' : networkPathLabel[line.networkPath]}
              </Cell>
            ) : null}
            <Cell numeric>
              {formatInteger(line.requestsPerSecond)}
              <Range interval={line.interval} format={formatInteger} />
            </Cell>
            {hasRatios ? (
              <Cell numeric>
                {line.ratio === null ? '' : formatRatio(line.ratio)}
                <Range interval={line.ratioInterval} format={formatRatio} />
              </Cell>
            ) : null}
            <Cell numeric>{formatFixed(line.p50Ms, 2)}</Cell>
            <Cell numeric>{formatFixed(line.p90Ms, 2)}</Cell>
            <Cell numeric>{formatFixed(line.p99Ms, 2)}</Cell>
            <Cell numeric>{line.successRate === null ? '' : formatPercent(line.successRate)}</Cell>
            <Cell numeric className={line.errors > 0 ? 'text-bad-text' : ''}>
              {formatInteger(line.errors)}
            </Cell>
            <Cell numeric>{formatFixed(line.cpuUsPerRequest, 1)}</Cell>
            <Cell numeric>{formatFixed(mebibytes(line.memoryBytes), 1)}</Cell>
            {hasGenerator ? (
              <Cell numeric>
                {formatFixed(line.generatorCores, 2)}
                <Saturated rows={line.saturated} of={line.repeats} />
              </Cell>
            ) : null}
            {hasNoise ? <Cell numeric>{share(line.otherShare)}</Cell> : null}
            {hasSteal ? <Cell numeric>{share(line.stealShare)}</Cell> : null}
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

/** Long label, which takes two lines where the table would scroll otherwise. */
function Wrapped({ children }: { readonly children: string }) {
  return <span className="inline-block whitespace-normal leading-tight">{children}</span>;
}

interface RangeProps {
  readonly interval: Interval | null;
  readonly format: (value: number) => string;
}

/** Bounds of a 95 % interval, below the value. */
function Range({ interval, format }: RangeProps) {
  if (interval === null) return null;
  return (
    <span className="block text-ink-faint text-xs">
      <span className="sr-only">95 % interval </span>
      {format(interval.low)}–{format(interval.high)}
    </span>
  );
}

function mebibytes(bytes: number | null): number | null {
  return bytes === null ? null : bytes / (1024 * 1024);
}
