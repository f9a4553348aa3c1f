// Results of a run's thresholds: limit, measured value of the worst cell, and outcome.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { StateText } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import type { BenchmarkDetail } from '../../api/types.ts';
import { describeThreshold, metricLook } from '../../common/threshold/threshold-draft.ts';
import { protocolLabel, targetLabel } from './results.ts';

type Result = BenchmarkDetail['thresholds'][number];

export function ThresholdCard({ run }: { readonly run: BenchmarkDetail }) {
  const formats = useFormats();
  const missed = run.thresholds.filter(({ passed }) => !passed).length;
  return (
    <Card>
      <CardHeader
        title="Thresholds"
        detail={
          missed === 0
            ? 'All passed. The median over the rounds decides each row.'
            : `${missed} of ${run.thresholds.length} missed. The median over the rounds decides each row.`
        }
      />
      <Table scrollLabel="Thresholds">
        <TableHead>
          <HeadCell>Threshold</HeadCell>
          <HeadCell>Rows</HeadCell>
          <HeadCell numeric>Worst</HeadCell>
          <HeadCell>Result</HeadCell>
        </TableHead>
        <tbody>
          {[...run.thresholds.entries()].map(([at, result]) => (
            <tr key={at} className="border-line border-b last:border-b-0">
              <Cell className="h-10 whitespace-nowrap">{describeThreshold(result.threshold, formats)}</Cell>
              <Cell className="whitespace-nowrap text-ink-soft">{rowsOf(result)}</Cell>
              <Cell numeric>{worstOf(result, formats)}</Cell>
              <Cell className="whitespace-nowrap">
                <Outcome result={result} />
              </Cell>
            </tr>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}

function Outcome({ result: { passed, certain, cells } }: { readonly result: Result }) {
  if (cells.length === 0) return <StateText tone="bad">No matching row</StateText>;
  const doubt = certain ? '' : ', within the noise';
  return <StateText tone={passed ? 'ok' : 'bad'}>{`${passed ? 'Passed' : 'Missed'}${doubt}`}</StateText>;
}

function rowsOf({ threshold: { target, protocol, concurrency } }: Result): string {
  const parts = [
    target === undefined ? null : targetLabel[target],
    protocol === undefined ? null : protocolLabel[protocol],
    concurrency === undefined ? null : `at ${concurrency}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? 'All' : parts.join(', ');
}

function worstOf({ threshold, cells }: Result, formats: ReturnType<typeof useFormats>): string {
  const values = cells.flatMap(({ value }) => (value === null ? [] : [value]));
  if (values.length < cells.length) return 'No response';
  if (values.length === 0) return '–';
  const worst = threshold.max === undefined ? Math.min(...values) : Math.max(...values);
  return metricLook[threshold.metric].format(worst, formats);
}
