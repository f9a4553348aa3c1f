// Benchmark gate of a deployment: its rounds, the thresholds with their medians, and the outcome on each server.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
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
  failed: { tone: 'bad', shape: 'cross', label: 'Missed' },
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
          <li key={row.round} className="tabular flex justify-between gap-3">
            <span>Round {row.round + 1}</span>
            <span>
              {formats.formatInteger(row.requestsPerSecond)} req/s, p99 {formats.formatMs(row.p99Ms)}
              {row.errors === 0 ? '' : `, ${formats.plural(row.errors, 'error')}`}
            </span>
          </li>
        ))}
      </ol>
      <ul className="mt-1.5 flex flex-col gap-0.5 text-sm">
        {[...gate.thresholds.entries()].map(([at, { threshold, passed, certain, cells }]) => {
          const value = cells[0]?.value ?? null;
          const measured = value === null ? 'unknown' : metricLook[threshold.metric].format(value, formats);
          return (
            <li key={at} className="flex flex-wrap justify-between gap-x-3">
              <span>{describeThreshold(threshold, formats)}</span>
              <StateText tone={passed ? 'ok' : 'bad'}>{`${measured}${certain ? '' : ', within the noise'}`}</StateText>
            </li>
          );
        })}
      </ul>
    </>
  );
}
