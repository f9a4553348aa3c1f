'use client';
// Health settings of an app: readiness and liveness checks, active health checks and outlier ejection.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { NumberField, TextField } from '../../common/form/fields.tsx';
import { Advanced, Section } from '../../common/form/section.tsx';
import { CheckField } from './check-field.tsx';
import { defaults, ejectionDefaults, healthCheckDefaults } from './defaults.ts';
import { bindApp, bindSettings, type Draft } from './draft.ts';
import { SettingsForm, type SettingsPageProps } from './settings-form.tsx';
import { AT_ONCE, trafficOf } from './traffic.ts';

type Traffic = Settings['traffic'];
type HealthCheck = NonNullable<Traffic['healthCheck']>;

export function HealthSettings(page: SettingsPageProps) {
  return (
    <SettingsForm {...page} title="Health checks">
      {({ draft }) => (
        <>
          <ChecksSection draft={draft} />
          <ActiveChecksSection draft={draft} />
          <EjectionSection draft={draft} />
        </>
      )}
    </SettingsForm>
  );
}

function ChecksSection({ draft }: { readonly draft: Draft }) {
  const setting = bindSettings(draft);
  const { healthPath } = draft.app;
  const standard = healthPath === '' ? 'fairlead.toml or a TCP connection' : `HTTP ${healthPath}`;
  return (
    <Section title="Process checks">
      <CheckField
        label="Readiness check"
        hint="An instance gets traffic once it passes."
        none={`Default: ${standard}`}
        {...setting('readinessCheck')}
      />
      <NumberField
        label="Start timeout"
        hint="Until a new instance is ready."
        unit="seconds"
        standard={defaults.startTimeoutMs}
        {...setting('startTimeoutMs')}
      />
      <CheckField
        label="Liveness check"
        hint="Three failures in a row restart the instance."
        none="Off"
        {...setting('livenessCheck')}
      />
      <Advanced open={healthPath !== ''}>
        <TextField
          label="Default health path"
          hint="Must return 2xx or 3xx. In all environments without a readiness check of their own."
          placeholder="TCP connection"
          {...bindApp(draft)('healthPath')}
        />
      </Advanced>
    </Section>
  );
}

function ActiveChecksSection({ draft }: { readonly draft: Draft }) {
  const { onValue: setHealthCheck } = trafficOf(draft)('healthCheck');
  const { healthCheck } = draft.settings.traffic;
  return (
    <Section title="Proxy checks" detail={AT_ONCE}>
      <Checkbox
        className="sm:col-span-2"
        label="Active health checks"
        hint="The proxy sends requests to each instance and skips those that fail."
        checked={healthCheck !== null}
        onChange={(event) => setHealthCheck(event.target.checked ? healthCheckDefaults : null)}
      />
      {healthCheck === null ? null : (
        <HealthCheckFields healthCheck={healthCheck} problem={draft.problem} onHealthCheck={setHealthCheck} />
      )}
    </Section>
  );
}

interface HealthCheckFieldsProps {
  readonly healthCheck: HealthCheck;
  readonly problem: Draft['problem'];
  readonly onHealthCheck: (healthCheck: HealthCheck) => void;
}

function HealthCheckFields({ healthCheck, problem, onHealthCheck }: HealthCheckFieldsProps) {
  const part = <Name extends keyof HealthCheck>(name: Name) => ({
    value: healthCheck[name],
    error: problem(`traffic.healthCheck.${name}`),
    onValue: (value: HealthCheck[Name]) => onHealthCheck({ ...healthCheck, [name]: value }),
  });
  const { path: _, ...rare } = healthCheckDefaults;
  const names = Object.keys(rare) as (keyof typeof rare)[];
  return (
    <>
      <TextField
        label="Health check path"
        hint="Must return 2xx or 3xx."
        placeholder="TCP connection"
        {...part('path')}
      />
      <Advanced open={names.some((name) => healthCheck[name] !== rare[name])}>
        <NumberField label="Interval" unit="seconds" standard={rare.intervalMs} {...part('intervalMs')} />
        <NumberField label="Check timeout" unit="seconds" standard={rare.timeoutMs} {...part('timeoutMs')} />
        <NumberField
          label="Unhealthy threshold"
          hint="Failed checks in a row."
          min={1}
          standard={rare.unhealthyThreshold}
          {...part('unhealthyThreshold')}
        />
        <NumberField
          label="Healthy threshold"
          hint="Passed checks in a row."
          min={1}
          standard={rare.healthyThreshold}
          {...part('healthyThreshold')}
        />
      </Advanced>
    </>
  );
}

function EjectionSection({ draft }: { readonly draft: Draft }) {
  const { value: ejection, onValue: setEjection } = trafficOf(draft)('outlierEjection');
  const ejected = <Name extends keyof Traffic['outlierEjection']>(name: Name) => ({
    value: ejection[name],
    standard: ejectionDefaults[name],
    error: draft.problem(`traffic.outlierEjection.${name}`),
    onValue: (value: number) => setEjection({ ...ejection, [name]: value }),
  });
  return (
    <Section title="Outlier ejection" detail={AT_ONCE}>
      <NumberField
        label="Consecutive failures"
        hint="Then the instance is ejected. 0: never."
        {...ejected('consecutiveFailures')}
      />
      {ejection.consecutiveFailures === 0 ? null : (
        <>
          <NumberField
            label="Ejection time"
            hint="Grows with each ejection."
            unit="seconds"
            {...ejected('ejectionTimeMs')}
          />
          <NumberField label="Max ejected" hint="Percent of instances." {...ejected('ejectedPercentMax')} />
        </>
      )}
    </Section>
  );
}
