'use client';
// Scaling settings: a fixed number of instances, an autoscaling range, or scale to zero when idle.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { NumberField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import { partsOf } from './bind.ts';
import type { Draft } from './draft.ts';

type Scale = NonNullable<Settings['scale']>;

const FIRST: Scale = {
  instancesMin: 1,
  instancesMax: 4,
  idleTimeoutMs: 300_000,
  inFlightTarget: 20,
  cpuMillisTarget: 0,
  wakeTimeoutMs: 30_000,
};

export function ScaleSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { scale } = settings;
  return (
    <Section title="Autoscaling" detail="Takes effect as soon as it is saved">
      <Checkbox
        label="Scale instances with load"
        className="sm:col-span-2"
        checked={scale !== null}
        onChange={(event) => set('scale', event.target.checked ? FIRST : null)}
      />
      {scale === null ? null : (
        <ScaleFields scale={scale} problem={problem} onScale={(changed) => set('scale', changed)} />
      )}
    </Section>
  );
}

interface ScaleFieldsProps {
  readonly scale: Scale;
  readonly problem: Draft['problem'];
  readonly onScale: (scale: Scale) => void;
}

function ScaleFields({ scale, problem, onScale }: ScaleFieldsProps) {
  const part = partsOf(scale, onScale);
  const problemOfWait = problem('scale.wakeTimeoutMs');
  return (
    <>
      <NumberField
        label="Min instances"
        hint="0 lets the app sleep; the first request wakes an instance."
        {...part('instancesMin')}
        error={problemOfWait === undefined ? problem('scale') : undefined}
      />
      <NumberField label="Max instances" hint="Per server." min={1} {...part('instancesMax')} />
      <NumberField label="Requests in flight" hint="Target per instance." zero="Off" {...part('inFlightTarget')} />
      <NumberField label="CPU" hint="Target per instance." unit="cores" zero="Off" {...part('cpuMillisTarget')} />
      {scale.instancesMin > 0 ? null : (
        <>
          <NumberField
            label="Sleep after"
            hint="Idle time without a request."
            unit="minutes"
            {...part('idleTimeoutMs')}
          />
          <NumberField
            label="Wake timeout"
            hint="How long requests wait for the app to wake, 1 to 120 seconds."
            unit="seconds"
            min={1}
            {...part('wakeTimeoutMs')}
            error={problemOfWait}
          />
        </>
      )}
    </>
  );
}
