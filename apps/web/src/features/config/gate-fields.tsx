'use client';
// Benchmark gate: load on a new instance before traffic switches, and the thresholds that it must meet.
import { Checkbox } from '@fairlead/ui/input';
import dynamic from 'next/dynamic';
import type { Settings } from '../../api/types.ts';
import type { Draft } from './draft.ts';

const GateDetails = dynamic(() => import('./gate-details.tsx').then((module) => module.GateDetails), { ssr: false });

const FIRST_GATE: NonNullable<Settings['benchmarkGate']> = {
  path: '/',
  concurrency: 16,
  durationMs: 3000,
  rounds: 3,
  thresholds: [],
};

export function GateFields({ draft }: { readonly draft: Draft }) {
  const gate = draft.settings.benchmarkGate;
  return (
    <>
      <Checkbox
        label="Benchmark gate"
        hint="Measures one new instance before traffic switches. A missed threshold fails the deployment."
        checked={gate !== null}
        onChange={(event) => draft.set('benchmarkGate', event.target.checked ? FIRST_GATE : null)}
        className="sm:col-span-2"
      />
      {gate === null ? null : <GateDetails draft={draft} gate={gate} />}
    </>
  );
}
