'use client';
// How much may come, who goes first, and how answers are sent.
import { Checkbox } from '@fairlead/ui/input';
import { ChoiceField, NumberField } from '../../common/fields.tsx';
import { Section } from '../../common/section.tsx';
import type { Draft, PolicyDraft } from './draft.ts';

const NUMBERS: readonly {
  readonly name: keyof PolicyDraft['limits'];
  readonly label: string;
  readonly hint: string;
}[] = [
  { name: 'clientRequestsPerSecond', label: 'Requests a second of one client', hint: 'By its address.' },
  { name: 'requestsPerSecond', label: 'Requests a second of all', hint: 'On each server.' },
  { name: 'clientBurst', label: 'One client at once beyond that', hint: 'Then its rate counts again.' },
  { name: 'burst', label: 'All at once beyond that', hint: 'Then their rate counts again.' },
  { name: 'clientConcurrent', label: 'Under way of one client', hint: 'Not answered yet.' },
  { name: 'concurrent', label: 'Under way of all', hint: 'On each server.' },
];

export function LimitsSection({ draft: { policy, set, problem } }: { readonly draft: Draft }) {
  const { limits } = policy;
  return (
    <Section title="Limits" detail="What comes beyond gets 429 and is told when to try again">
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
        label="Size of a request"
        hint="Larger ones get 413."
        unit="mebibytes"
        zero="No limit"
        error={problem('requestBodyBytesMax')}
        value={policy.requestBodyBytesMax}
        onValue={(value) => set('requestBodyBytesMax', value)}
      />
      <ChoiceField
        label="When the app can't serve all"
        value={policy.priority}
        options={[
          { value: 'low', label: 'This domain waits first' },
          { value: 'normal', label: 'It is like any other' },
          { value: 'high', label: 'It waits last' },
        ]}
        onValue={(priority) => set('priority', priority)}
      />
      <Checkbox
        className="sm:col-span-2"
        label="Compress answers of text (zstd, brotli, gzip)"
        checked={policy.compress}
        onChange={(event) => set('compress', event.target.checked)}
      />
    </Section>
  );
}
