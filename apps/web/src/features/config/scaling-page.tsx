'use client';
// Scaling settings: a fixed number of instances, an autoscaling range, or scale to zero when idle.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { NumberField } from '../../common/form/fields.tsx';
import { Advanced, Section } from '../../common/form/section.tsx';
import { autoscalingDefaults } from './defaults.ts';
import { bindApp, bindParts, type Draft } from './draft.ts';
import { SettingsForm, type SettingsPageProps } from './settings-form.tsx';
import { AT_ONCE } from './traffic.ts';

type Autoscaling = NonNullable<Settings['autoscaling']>;

const FIRST: Autoscaling = {
  instancesMin: 1,
  instancesMax: 4,
  ...autoscalingDefaults,
  inFlightTarget: 20,
  cpuMillisTarget: 0,
};

export function ScalingSettings(page: SettingsPageProps) {
  return (
    <SettingsForm {...page} title="Scaling">
      {({ draft }) => <ScalingSection draft={draft} />}
    </SettingsForm>
  );
}

function ScalingSection({ draft }: { readonly draft: Draft }) {
  const { settings, set, problem } = draft;
  const { autoscaling } = settings;
  const { error, ...instances } = bindApp(draft)('instances');
  return (
    <Section title="Scaling" detail={AT_ONCE}>
      <NumberField
        label="Instances"
        hint={autoscaling === null ? 'Per server.' : 'Per server, when autoscaling is off.'}
        min={1}
        error={error}
        {...instances}
      />
      <Checkbox
        label="Autoscaling"
        hint="Starts and stops instances with load."
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
        <Advanced
          open={
            problemOfWait !== undefined ||
            autoscaling.idleTimeoutMs !== autoscalingDefaults.idleTimeoutMs ||
            autoscaling.wakeTimeoutMs !== autoscalingDefaults.wakeTimeoutMs
          }
        >
          <NumberField
            label="Idle timeout"
            hint="Time without a request before the app sleeps."
            unit="minutes"
            standard={autoscalingDefaults.idleTimeoutMs}
            {...part('idleTimeoutMs')}
          />
          <NumberField
            label="Wake timeout"
            hint="How long requests wait for the app to wake, 1 to 120 seconds."
            unit="seconds"
            min={1}
            standard={autoscalingDefaults.wakeTimeoutMs}
            {...part('wakeTimeoutMs')}
            error={problemOfWait}
          />
        </Advanced>
      )}
    </>
  );
}
