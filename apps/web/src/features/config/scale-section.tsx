'use client';
// How many copies run: a number, or between a least and a most as the load asks for it, or none while nobody comes.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { NumberField } from '../../common/fields.tsx';
import { Section } from '../../common/section.tsx';
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
    <Section title="Scale by itself" detail="Takes effect as soon as it is saved">
      <Checkbox
        label="Start and stop instances with the load"
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
        label="At least"
        hint="0: all may sleep; the first request wakes one."
        {...part('instancesMin')}
        error={problemOfWait === undefined ? problem('scale') : undefined}
      />
      <NumberField label="At most" hint="On each server." min={1} {...part('instancesMax')} />
      <NumberField
        label="Requests in flight"
        hint="That one instance should have."
        zero="Not looked at"
        {...part('inFlightTarget')}
      />
      <NumberField
        label="CPU"
        hint="That one instance should use."
        unit="cores"
        zero="Not looked at"
        {...part('cpuMillisTarget')}
      />
      {scale.instancesMin > 0 ? null : (
        <>
          <NumberField label="Sleeps after" hint="Without a request." unit="minutes" {...part('idleTimeoutMs')} />
          <NumberField
            label="Requests wait for it"
            hint="While it wakes, 1 to 120 seconds; then they get an error."
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
