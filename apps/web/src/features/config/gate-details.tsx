'use client';
// Load and thresholds of a benchmark gate that is on.
import type { Settings } from '../../api/types.ts';
import { NumberField, TextField } from '../../common/form/fields.tsx';
import { GATE_METRICS } from '../../common/threshold/threshold-draft.ts';
import { ThresholdFields } from '../../common/threshold/threshold-fields.tsx';
import { bindParts, type Draft } from './draft.ts';

export interface GateDetailsProps {
  readonly draft: Draft;
  readonly gate: NonNullable<Settings['benchmarkGate']>;
}

export function GateDetails({ draft: { set, problem }, gate }: GateDetailsProps) {
  const part = bindParts(gate, (changed) => set('benchmarkGate', changed));
  const errorOf = (name: string) => problem(`benchmarkGate.${name}`);
  return (
    <>
      <TextField label="Gate path" {...part('path')} error={errorOf('path')} />
      <NumberField
        label="Gate concurrency"
        hint="At most 1,024 clients."
        min={1}
        {...part('concurrency')}
        error={errorOf('concurrency')}
      />
      <NumberField
        label="Seconds per round"
        unit="seconds"
        min={0.5}
        {...part('durationMs')}
        error={errorOf('durationMs')}
      />
      <NumberField
        label="Gate rounds"
        hint="The median of the rounds decides."
        min={1}
        {...part('rounds')}
        error={errorOf('rounds')}
      />
      <div className="sm:col-span-2">
        <ThresholdFields
          first={gate.thresholds}
          metrics={GATE_METRICS}
          canCompare
          errorOf={(at) => errorOf(`thresholds.${at}`)}
          // An invalid limit is sent as no threshold at all, which the server refuses at this field.
          onChange={(thresholds) => set('benchmarkGate', { ...gate, thresholds: thresholds ?? [] })}
        />
        {gate.thresholds.length > 0 ? null : (
          <p className="mt-2 text-bad-text text-sm">
            Add a threshold with a limit: without one, the gate can't be saved.
          </p>
        )}
      </div>
    </>
  );
}
