'use client';
// Deploy settings: commands before and after a release, the rollout strategy, and what is kept of former releases.
import { Checkbox, Field, Input } from '@fairlead/ui/input';
import { cn } from '@fairlead/ui/lib/class-names';
import { type ReactNode, useState } from 'react';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, CommandField, NumberField } from '../../common/form/fields.tsx';
import { Advanced, Section } from '../../common/form/section.tsx';
import { defaults, hookTimeoutMs } from './defaults.ts';
import { bindParts, bindSettings, type Draft } from './draft.ts';
import { GateFields } from './gate-fields.tsx';
import { SettingsForm, type SettingsPageProps } from './settings-form.tsx';

type Canary = Extract<Settings['rollout'], { kind: 'canary' }>;

const STRATEGIES = [
  { value: 'blue_green', label: 'Blue-green: start all, then switch' },
  { value: 'rolling', label: 'Rolling: in batches' },
  { value: 'canary', label: 'Canary: a share of traffic first' },
] as const;
const FIRST_CANARY: Canary = {
  kind: 'canary',
  stepPercents: [5, 25],
  stepDurationMs: 60_000,
  errorIncreasePermilleMax: 10,
  p99RatioPermilleMax: 0,
  requestsMin: 20,
};

interface DeploysSettingsProps extends SettingsPageProps {
  /** Cards above the form. */
  readonly children: ReactNode;
}

export function DeploysSettings({ children, ...page }: DeploysSettingsProps) {
  return (
    <SettingsForm {...page} title="Deploys" lead={children}>
      {({ draft }) => <RolloutSection draft={draft} />}
    </SettingsForm>
  );
}

function RolloutSection({ draft }: { readonly draft: Draft }) {
  const { settings, set, problem } = draft;
  const { rollout } = settings;
  return (
    <Section title="Release and rollout">
      <Hook
        draft={draft}
        name="releaseCommand"
        label="Release command"
        hint="Runs once per deployment before the first new instance starts, such as npm run migrate."
      />
      <ChoiceField
        label="Rollout"
        error={rollout.kind === 'blue_green' ? problem('rollout') : undefined}
        value={rollout.kind}
        options={STRATEGIES}
        onValue={(kind) =>
          set('rollout', kind === 'blue_green' ? { kind } : kind === 'rolling' ? { kind, batchSize: 1 } : FIRST_CANARY)
        }
      />
      {rollout.kind === 'rolling' ? (
        <NumberField
          label="Batch size"
          min={1}
          {...bindParts(rollout, (changed) => set('rollout', changed))('batchSize')}
          error={problem('rollout')}
        />
      ) : null}
      {rollout.kind === 'canary' ? <CanaryFields draft={draft} canary={rollout} /> : null}
      <GateFields draft={draft} />
      <Checkbox
        label="Deployment URLs"
        hint="Keeps the last 10 releases reachable below the base domain of the primary server. Takes effect at once."
        checked={settings.deploymentUrls}
        onChange={(event) => set('deploymentUrls', event.target.checked)}
        className="sm:col-span-2"
      />
      <Advanced open={settings.releasesKept !== defaults.releasesKept || settings.postReleaseCommand !== null}>
        <Hook
          draft={draft}
          name="postReleaseCommand"
          label="Post-release command"
          hint="Runs once when the release is live on all servers. A failure is logged and does not stop the release."
        />
        <NumberField
          label="Releases kept"
          hint="Previous releases kept for rollback without a build."
          min={1}
          standard={defaults.releasesKept}
          {...bindSettings(draft)('releasesKept')}
        />
      </Advanced>
    </Section>
  );
}

function CanaryFields({ draft: { set, problem }, canary }: { readonly draft: Draft; readonly canary: Canary }) {
  const [shares, setShares] = useState(() => canary.stepPercents.join(', '));
  const part = bindParts(canary, (changed) => set('rollout', changed));
  return (
    <>
      <Field label="Canary steps" hint="Percent of requests, in order." error={problem('rollout')}>
        {(control) => (
          <Input
            {...control}
            className="tabular"
            value={shares}
            placeholder="5, 25"
            onChange={(event) => {
              setShares(event.target.value);
              const words = event.target.value.split(/[\s,]+/).filter((word) => word !== '');
              part('stepPercents').onValue(words.map(Number).filter(Number.isFinite));
            }}
          />
        )}
      </Field>
      <NumberField label="Step duration" unit="seconds" {...part('stepDurationMs')} />
      <NumberField
        label="Max error increase"
        hint="Rolls back if the error rate exceeds the old release's by more percentage points than this."
        unit="percent"
        {...part('errorIncreasePermilleMax')}
      />
      <NumberField
        label="Max p99 ratio"
        hint="Percent of the old release's p99. More rolls back; 150 % is 1.5 times."
        unit="percent"
        zero="Off"
        {...part('p99RatioPermilleMax')}
      />
      <NumberField label="Min requests" hint="A step with fewer requests doesn't fail." {...part('requestsMin')} />
    </>
  );
}

interface HookProps {
  readonly draft: Draft;
  readonly name: 'releaseCommand' | 'postReleaseCommand';
  readonly label: string;
  readonly hint: string;
}

function Hook({ draft: { settings, set, problem }, name, label, hint }: HookProps) {
  const hook = settings[name];
  return (
    <div className={cn('grid gap-3 sm:col-span-2', hook !== null && 'sm:grid-cols-[minmax(0,1fr)_10rem]')}>
      <CommandField
        label={label}
        hint={hint}
        error={problem(name)}
        value={hook?.command ?? []}
        placeholder="None"
        onValue={(command) =>
          set(name, command.length === 0 ? null : { command, timeoutMs: hook?.timeoutMs ?? hookTimeoutMs })
        }
      />
      {hook === null ? null : (
        <NumberField
          label="Timeout"
          unit="minutes"
          standard={hookTimeoutMs}
          {...bindParts(hook, (changed) => set(name, changed))('timeoutMs')}
        />
      )}
    </div>
  );
}
