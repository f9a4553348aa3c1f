// Benchmark gate of a deployment: its rounds, the thresholds with their medians, and the outcome on each server.
import { Card, CardHeader } from '@fairlead/ui/card';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { StateText } from '@fairlead/ui/state-pill';
import type { DeploymentDetail } from '../../api/types.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import type { StateLook } from '../../common/deployment/states.ts';
import { describeThreshold, metricLook } from '../../common/threshold/threshold-draft.ts';

type Server = DeploymentDetail['servers'][number];
type Gate = NonNullable<Server['gate']>;

const LOOK: Record<Gate['outcome'], StateLook> = {
  running: { tone: 'busy', shape: 'half', label: 'Measuring' },
  passed: { tone: 'ok', shape: 'tick', label: 'Passed' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
};

export function GateCard({ servers }: { readonly servers: readonly Server[] }) {
  const { plural } = useFormats();
  const measured = servers.flatMap(({ gate, serverId, serverName }) =>
    gate === null ? [] : [{ gate, serverId, serverName }],
  );
  const [first] = measured;
  if (first === undefined) return null;
  return (
    <Card>
      <CardHeader
        title="Benchmark gate"
        detail={`${plural(first.gate.concurrency, 'client')} on ${first.gate.path}, ${plural(first.gate.rounds, 'round')}`}
      />
      <ul>
        {measured.map(({ gate, serverId, serverName }) => (
          <li key={serverId} className="border-line border-t px-4 py-2.5">
            <div className="flex items-baseline justify-between gap-3">
              <span className="min-w-0 truncate">{serverName ?? 'A deleted server'}</span>
              <LookText look={LOOK[gate.outcome]} />
            </div>
            <GateFigures gate={gate} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function GateFigures({ gate }: { readonly gate: Gate }) {
  const formats = useFormats();
  return (
    <>
      <ol className="mt-1.5 flex flex-col gap-0.5 text-ink-soft text-sm">
        {gate.rows.map((row) => (
          <GateRound key={row.round} name={`Round ${row.round + 1}`} row={row} />
        ))}
        {gate.liveRows.map((row) => (
          <GateRound key={`live ${row.round}`} name={`Round ${row.round + 1}, live`} row={row} />
        ))}
      </ol>
      <ul className="mt-1.5 flex flex-col gap-0.5 text-sm">
        {[...gate.thresholds.entries()].map(([at, result]) => (
          <li key={at} className="flex flex-wrap justify-between gap-x-3">
            <span>{describeThreshold(result.threshold, formats)}</span>
            <StateText tone={result.passed ? 'ok' : 'bad'}>{describeResult(result, formats)}</StateText>
          </li>
        ))}
      </ul>
    </>
  );
}

function GateRound({ name, row }: { readonly name: string; readonly row: Gate['rows'][number] }) {
  const formats = useFormats();
  return (
    <li className="tabular flex justify-between gap-3">
      <span>{name}</span>
      <span>
        {formats.formatInteger(row.requestsPerSecond)} requests/s, p99 {formats.formatMs(row.p99Ms)}
        {row.errors === 0 ? '' : `, ${formats.plural(row.errors, 'error')}`}
      </span>
    </li>
  );
}

/** Describes the measured median, or the ratio with its interval. */
function describeResult({ threshold, certain, cells }: Gate['thresholds'][number], formats: Formats): string {
  const [cell] = cells;
  const isRatio = threshold.relativeTo !== undefined;
  if (cell === undefined && isRatio) return 'Live release not measured';
  const value = cell?.value ?? null;
  if (value === null) return 'No response';
  const ratio = (of: number) => formats.formatFixed(of, 2);
  const interval = isRatio && cell?.interval ? ` (${ratio(cell.interval.low)} to ${ratio(cell.interval.high)})` : '';
  const measured = isRatio ? `${ratio(value)} ×${interval}` : metricLook[threshold.metric].format(value, formats);
  return `${measured}${certain ? '' : ', within the noise'}`;
}
