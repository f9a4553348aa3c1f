'use client';
// Request limits, priority and response settings of a domain.
import { Checkbox } from '@fairlead/ui/input';
import { ChoiceField, NumberField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import type { Draft, PolicyDraft } from './draft.ts';

const NO_LIMIT = 'No limit';
/** A rate always admits the requests of one second at once; the burst is on top. */
const BURST = 'Extra requests at once, beyond one second of the rate. Default: 0';

const NUMBERS: readonly {
  readonly name: keyof PolicyDraft['limits'];
  readonly label: string;
  readonly hint: string;
  /** Placeholder of an empty field. */
  readonly zero: string;
}[] = [
  {
    name: 'clientRequestsPerSecond',
    label: 'Rate limit per client',
    hint: 'Requests per second, by client address.',
    zero: NO_LIMIT,
  },
  {
    name: 'requestsPerSecond',
    label: 'Rate limit in total',
    hint: 'Requests per second, on each server.',
    zero: NO_LIMIT,
  },
  { name: 'clientBurst', label: 'Burst per client', hint: BURST, zero: '0' },
  { name: 'burst', label: 'Burst in total', hint: BURST, zero: '0' },
  { name: 'clientInFlight', label: 'In-flight per client', hint: 'Requests in flight.', zero: NO_LIMIT },
  { name: 'inFlight', label: 'In-flight in total', hint: 'Requests in flight, on each server.', zero: NO_LIMIT },
];

export function LimitsSection({ draft: { policy, set, problem } }: { readonly draft: Draft }) {
  const { limits } = policy;
  return (
    <Section title="Limits" detail="Requests above a limit get 429 with Retry-After">
      {NUMBERS.map(({ name, ...field }) => (
        <NumberField
          key={name}
          {...field}
          error={problem(`limits.${name}`)}
          value={limits[name]}
          onValue={(value) => set('limits', { ...limits, [name]: value })}
        />
      ))}
      <NumberField
        label="Body size limit"
        hint="Larger requests get 413."
        unit="mebibytes"
        zero={NO_LIMIT}
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
        label="Compress responses"
        hint="Text only, with zstd, brotli or gzip."
        checked={policy.compress}
        onChange={(event) => set('compress', event.target.checked)}
      />
    </Section>
  );
}
