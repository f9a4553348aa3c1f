'use client';
// Benchmark gate: load on a new instance before traffic switches, and the thresholds that it must meet.
import { Checkbox } from '@fairlead/ui/input';
import dynamic from 'next/dynamic';
import type { Settings } from '../../api/types.ts';
import { NumberField, TextField } from '../../common/form/fields.tsx';
import { GATE_METRICS } from '../../common/threshold/threshold-draft.ts';
import { bindParts, type Draft } from './draft.ts';

const ThresholdFields = dynamic(
  () => import('../../common/threshold/threshold-fields.tsx').then((module) => module.ThresholdFields),
  { ssr: false },
);

const FIRST_GATE: NonNullable<Settings['benchmarkGate']> = {
  path: '/',
  concurrency: 16,
  durationMs: 3000,
  rounds: 3,
  thresholds: [],
};

export function GateFields({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const gate = settings.benchmarkGate;
  const toggle = (
    <Checkbox
      label="Benchmark gate"
      hint="Measures one new instance before traffic switches. A missed threshold fails the deployment."
      checked={gate !== null}
      onChange={(event) => set('benchmarkGate', event.target.checked ? FIRST_GATE : null)}
      className="sm:col-span-2"
    />
  );
  if (gate === null) return toggle;
  const part = bindParts(gate, (changed) => set('benchmarkGate', changed));
  const errorOf = (name: string) => problem(`benchmarkGate.${name}`);
  return (
    <>
      {toggle}
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
