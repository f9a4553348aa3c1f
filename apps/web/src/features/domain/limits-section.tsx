'use client';
// Request limits, priority and response settings of a domain.
import { Checkbox } from '@fairlead/ui/input';
import { ChoiceField, NumberField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import type { Draft, PolicyDraft } from './draft.ts';

const NUMBERS: readonly {
  readonly name: keyof PolicyDraft['limits'];
  readonly label: string;
  readonly hint: string;
}[] = [
  { name: 'clientRequestsPerSecond', label: 'Rate limit per client', hint: 'Requests per second, by client address.' },
  { name: 'requestsPerSecond', label: 'Rate limit in total', hint: 'On each server.' },
  { name: 'clientBurst', label: 'Burst per client', hint: 'Requests above the rate before it applies.' },
  { name: 'burst', label: 'Burst in total', hint: 'Requests above the rate before it applies.' },
  { name: 'clientInFlight', label: 'In-flight per client', hint: 'Requests in flight.' },
  { name: 'inFlight', label: 'In-flight in total', hint: 'On each server.' },
];

export function LimitsSection({ draft: { policy, set, problem } }: { readonly draft: Draft }) {
  const { limits } = policy;
  return (
    <Section title="Limits" detail="Requests above a limit get 429 with Retry-After">
      {NUMBERS.map(({ name, ...field }) => (
        <NumberField
          key={name}
          {...field}
          zero="No limit"
          error={problem(`limits.${name}`)}
          value={limits[name]}
          onValue={(value) => set('limits', { ...limits, [name]: value })}
        />
      ))}
      <NumberField
        label="Body size limit"
        hint="Larger requests get 413."
        unit="mebibytes"
        zero="No limit"
        error={problem('requestBodyBytesMax')}
        value={policy.requestBodyBytesMax}
        onValue={(value) => set('requestBodyBytesMax', value)}
      />
      <ChoiceField
        label="Priority under load"
        value={policy.priority}
        options={[
          { value: 'low', label: 'Low' },
          { value: 'normal', label: 'Normal' },
          { value: 'high', label: 'High' },
        ]}
        onValue={(priority) => set('priority', priority)}
      />
      <Checkbox
        className="sm:col-span-2"
        label="Compress text responses (zstd, brotli, gzip)"
        checked={policy.compress}
        onChange={(event) => set('compress', event.target.checked)}
      />
    </Section>
  );
}
