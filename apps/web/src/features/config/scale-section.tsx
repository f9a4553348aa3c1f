'use client';
// Scaling settings: a fixed number of instances, an autoscaling range, or scale to zero when idle.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { NumberField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import { bindParts, type Draft } from './draft.ts';

type Autoscaling = NonNullable<Settings['autoscaling']>;

const FIRST: Autoscaling = {
  instancesMin: 1,
  instancesMax: 4,
  idleTimeoutMs: 300_000,
  inFlightTarget: 20,
  cpuMillisTarget: 0,
  wakeTimeoutMs: 30_000,
};

export function AutoscalingSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { autoscaling } = settings;
  return (
    <Section title="Autoscaling" detail="Takes effect as soon as it is saved">
      <Checkbox
        label="Scale instances with load"
        className="sm:col-span-2"
        checked={autoscaling !== null}
        onChange={(event) => set('autoscaling', event.target.checked ? FIRST : null)}
      />
      {autoscaling === null ? null : (
        <AutoscalingFields
          autoscaling={autoscaling}
          problem={problem}
          onAutoscaling={(changed) => set('autoscaling', changed)}
        />
      )}
    </Section>
  );
}

interface AutoscalingFieldsProps {
  readonly autoscaling: Autoscaling;
  readonly problem: Draft['problem'];
  readonly onAutoscaling: (autoscaling: Autoscaling) => void;
}

function AutoscalingFields({ autoscaling, problem, onAutoscaling }: AutoscalingFieldsProps) {
  const part = bindParts(autoscaling, onAutoscaling);
  const problemOfWait = problem('autoscaling.wakeTimeoutMs');
  return (
    <>
      <NumberField
        label="Min instances"
        hint="0 lets the app sleep; the first request wakes an instance."
        {...part('instancesMin')}
        error={problemOfWait === undefined ? problem('autoscaling') : undefined}
      />
      <NumberField label="Max instances" hint="Per server." min={1} {...part('instancesMax')} />
      <NumberField label="In-flight target" hint="Requests per instance." zero="Off" {...part('inFlightTarget')} />
      <NumberField label="CPU target" hint="Per instance." unit="cores" zero="Off" {...part('cpuMillisTarget')} />
      {autoscaling.instancesMin > 0 ? null : (
        <>
          <NumberField
            label="Idle timeout"
            hint="Time without a request before the app sleeps."
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
