'use client';
// How a release becomes the one that serves: commands around it, instance by instance or by a share of the requests, and how
// many older ones are kept.
import { Field, Input } from '@fairlead/ui/input';
import { cn } from '@fairlead/ui/lib/class-names';
import { useState } from 'react';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, CommandField, NumberField } from '../../common/fields.tsx';
import { Section } from '../../common/section.tsx';
import { partsOf, settingsOf } from './bind.ts';
import type { Draft } from './draft.ts';

type Canary = Extract<Settings['rollout'], { kind: 'canary' }>;

const STRATEGIES = [
  { value: 'all', label: 'All new instances beside the old ones' },
  { value: 'batch', label: 'A few instances at a time' },
  { value: 'canary', label: 'A share of the requests first' },
] as const;
const FIRST_CANARY: Canary = {
  kind: 'canary',
  percents: [5, 25],
  holdMs: 60_000,
  errorsPermilleMax: 10,
  p99PermilleMax: 0,
  requestsMin: 20,
};
const HOOK_TIMEOUT_MS = 600_000;

export function RolloutSection({ draft }: { readonly draft: Draft }) {
  const { settings, set, problem } = draft;
  const { rollout } = settings;
  return (
    <Section title="Release and roll-out">
      <Hook
        draft={draft}
        name="releaseCommand"
        label="Release command"
        hint="Once for each deployment, before the first new instance starts: migrations."
        placeholder="npm run migrate"
      />
      <Hook
        draft={draft}
        name="afterCommand"
        label="After command"
        hint="Once when the release is live everywhere. Its failure is told and changes nothing."
        placeholder="node warm-up.js"
      />
      <ChoiceField
        label="Roll-out"
        error={rollout.kind === 'all' ? problem('rollout') : undefined}
        value={rollout.kind}
        options={STRATEGIES}
        onValue={(kind) =>
          set('rollout', kind === 'all' ? { kind } : kind === 'batch' ? { kind, size: 1 } : FIRST_CANARY)
        }
      />
      {rollout.kind === 'batch' ? (
        <NumberField
          label="Instances at a time"
          min={1}
          {...partsOf(rollout, (changed) => set('rollout', changed))('size')}
          error={problem('rollout')}
        />
      ) : null}
      {rollout.kind === 'canary' ? <CanaryFields draft={draft} canary={rollout} /> : null}
      <NumberField
        label="Releases to keep"
        hint="That can be rolled back to without a build, the live one aside."
        min={1}
        {...settingsOf(draft)('keepReleases')}
      />
    </Section>
  );
}

function CanaryFields({ draft: { set, problem }, canary }: { readonly draft: Draft; readonly canary: Canary }) {
  const [shares, setShares] = useState(() => canary.percents.join(', '));
  const part = partsOf(canary, (changed) => set('rollout', changed));
  return (
    <>
      <Field label="Shares of the requests" hint="In percent, one after the other." error={problem('rollout')}>
        {(control) => (
          <Input
            {...control}
            className="tabular"
            value={shares}
            placeholder="5, 25"
            onChange={(event) => {
              setShares(event.target.value);
              const words = event.target.value.split(/[\s,]+/).filter((word) => word !== '');
              part('percents').onValue(words.map(Number).filter(Number.isFinite));
            }}
          />
        )}
      </Field>
      <NumberField label="Each share lasts" unit="seconds" {...part('holdMs')} />
      <NumberField
        label="Failed requests end it"
        hint="So many more than with the old release."
        unit="percent"
        {...part('errorsPermilleMax')}
      />
      <NumberField
        label="A slower p99 ends it"
        hint="150 % is half as slow again as the old release."
        unit="percent"
        zero="Not looked at"
        {...part('p99PermilleMax')}
      />
      <NumberField label="Requests to judge by" hint="Fewer decide nothing." {...part('requestsMin')} />
    </>
  );
}

interface HookProps {
  readonly draft: Draft;
  readonly name: 'releaseCommand' | 'afterCommand';
  readonly label: string;
  readonly hint: string;
  readonly placeholder: string;
}

function Hook({ draft: { settings, set, problem }, name, label, hint, placeholder }: HookProps) {
  const hook = settings[name];
  return (
    <div className={cn('grid gap-3 sm:col-span-2', hook !== null && 'sm:grid-cols-[minmax(0,1fr)_10rem]')}>
      <CommandField
        label={label}
        hint={hint}
        error={problem(name)}
        value={hook?.command ?? []}
        placeholder={placeholder}
        onValue={(command) =>
          set(name, command.length === 0 ? null : { command, timeoutMs: hook?.timeoutMs ?? HOOK_TIMEOUT_MS })
        }
      />
      {hook === null ? null : (
        <NumberField label="May take" unit="minutes" {...partsOf(hook, (changed) => set(name, changed))('timeoutMs')} />
      )}
    </div>
  );
}
