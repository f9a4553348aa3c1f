'use client';
// How requests reach the instances: which one gets them, how many wait and for how long, and what becomes of one that fails.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, NumberField, TextField } from '../../common/fields.tsx';
import { Section } from '../../common/section.tsx';
import type { Bound } from './bind.ts';
import type { Draft } from './draft.ts';

type Traffic = Settings['traffic'];
type Probe = NonNullable<Traffic['probe']>;

const AT_ONCE = 'Takes effect as soon as it is saved';
const FIRST_PROBE: Probe = { path: '/', intervalMs: 5000, timeoutMs: 2000, healthyAfter: 1, unhealthyAfter: 3 };
const FIRST_COOKIE = 'instance';

export function TrafficSections({ draft }: { readonly draft: Draft }) {
  return (
    <>
      <BalanceSection draft={draft} />
      <QueueSection draft={draft} />
      <FailureSection draft={draft} />
    </>
  );
}

/** To a part of the traffic by its name. */
function trafficOf({ settings, set, problem }: Draft) {
  return <Name extends keyof Traffic>(name: Name): Bound<Traffic[Name]> => ({
    value: settings.traffic[name],
    error: problem(`traffic.${name}`),
    onValue: (value) => set('traffic', { ...settings.traffic, [name]: value }),
  });
}

function BalanceSection({ draft }: { readonly draft: Draft }) {
  const traffic = trafficOf(draft);
  const { sticky } = draft.settings.traffic;
  const { onValue: tie, error: stickyError } = traffic('sticky');
  return (
    <Section title="Traffic" detail={AT_ONCE}>
      <ChoiceField
        label="Instances speak"
        hint="HTTP/2 without TLS, as gRPC needs it; health is asked at the port then."
        options={[
          { value: 'http1', label: 'HTTP/1.1' },
          { value: 'http2', label: 'HTTP/2' },
        ]}
        {...traffic('protocol')}
      />
      <ChoiceField
        label="A request goes to"
        options={[
          { value: 'least_in_flight', label: 'The less busy of two' },
          { value: 'round_robin', label: 'One after the other' },
        ]}
        {...traffic('balance')}
      />
      <ChoiceField
        label="A visitor stays with an instance"
        value={sticky?.kind ?? 'none'}
        options={[
          { value: 'none', label: 'No' },
          { value: 'cookie', label: 'By a cookie' },
          { value: 'client', label: 'By the address' },
        ]}
        onValue={(kind) => tie(kind === 'none' ? null : kind === 'cookie' ? { kind, name: FIRST_COOKIE } : { kind })}
      />
      {sticky?.kind === 'cookie' ? (
        <TextField
          label="Name of the cookie"
          error={stickyError}
          value={sticky.name}
          onValue={(name) => tie({ kind: 'cookie', name })}
        />
      ) : null}
      <NumberField
        label="A new instance gets less for"
        hint="Where others are warm already."
        unit="seconds"
        zero="Its share at once"
        {...traffic('slowStartMs')}
      />
      <NumberField
        label="An answer may take"
        hint="Until it begins; then 504."
        unit="seconds"
        {...traffic('responseTimeoutMs')}
      />
    </Section>
  );
}

function QueueSection({ draft }: { readonly draft: Draft }) {
  const traffic = trafficOf(draft);
  const { value: shedLoad, onValue: shed } = traffic('shedLoad');
  return (
    <Section title="When requests have to wait" detail={AT_ONCE}>
      <NumberField
        label="Requests that may wait"
        hint="On each core; more get 503."
        zero="None"
        {...traffic('queueMax')}
      />
      <NumberField label="Each waits at most" hint="Then 503." unit="seconds" {...traffic('queueTimeoutMs')} />
      <NumberField
        label="Connections to an instance"
        hint="From each core of the server. Default: adapts to the app."
        zero="Automatic"
        {...traffic('connectionsPerInstance')}
      />
      <NumberField
        label="Under way at an instance"
        hint="From each core; others wait."
        zero="As many as connections"
        {...traffic('inFlightPerInstance')}
      />
      <NumberField
        label="Under way at the app"
        hint="On each core; others wait."
        zero="No limit"
        {...traffic('inFlightMax')}
      />
      <NumberField
        label="Second attempts"
        hint="Of 100 requests, where one is safe."
        zero="None"
        {...traffic('retryPercentMax')}
      />
      <Checkbox
        className="sm:col-span-2"
        label="Refuse what has a low priority while others wait for long"
        checked={shedLoad}
        onChange={(event) => shed(event.target.checked)}
      />
    </Section>
  );
}

function FailureSection({ draft }: { readonly draft: Draft }) {
  const { problem, settings } = draft;
  const traffic = trafficOf(draft);
  const { value: ejection, onValue: eject } = traffic('ejection');
  const { onValue: ask } = traffic('probe');
  const { probe } = settings.traffic;
  const ejected = <Name extends keyof Traffic['ejection']>(name: Name) => ({
    value: ejection[name],
    error: problem(`traffic.ejection.${name}`),
    onValue: (value: number) => eject({ ...ejection, [name]: value }),
  });
  return (
    <Section title="Instances that fail" detail={AT_ONCE}>
      <NumberField label="Passed over after" hint="Failures in a row." zero="Never" {...ejected('failures')} />
      {ejection.failures === 0 ? null : (
        <>
          <NumberField label="Passed over for" hint="Longer each time again." unit="seconds" {...ejected('periodMs')} />
          <NumberField label="Passed over at once" hint="Of 100 instances, at most." {...ejected('percentMax')} />
        </>
      )}
      <Checkbox
        className="sm:col-span-2"
        label="The proxy asks each instance itself whether it is well"
        checked={probe !== null}
        onChange={(event) => ask(event.target.checked ? FIRST_PROBE : null)}
      />
      {probe === null ? null : <ProbeFields probe={probe} problem={problem} onProbe={ask} />}
    </Section>
  );
}

interface ProbeFieldsProps {
  readonly probe: Probe;
  readonly problem: Draft['problem'];
  readonly onProbe: (probe: Probe) => void;
}

function ProbeFields({ probe, problem, onProbe }: ProbeFieldsProps) {
  const part = <Name extends keyof Probe>(name: Name) => ({
    value: probe[name],
    error: problem(`traffic.probe.${name}`),
    onValue: (value: Probe[Name]) => onProbe({ ...probe, [name]: value }),
  });
  return (
    <>
      <TextField
        label="Path it asks for"
        hint="Must answer 2xx or 3xx. Empty: a connection is enough."
        placeholder="/health"
        {...part('path')}
      />
      <NumberField label="Asks every" unit="seconds" {...part('intervalMs')} />
      <NumberField label="Waits for an answer" unit="seconds" {...part('timeoutMs')} />
      <NumberField label="Out after" hint="Bad answers in a row." min={1} {...part('unhealthyAfter')} />
      <NumberField label="In again after" hint="Good answers in a row." min={1} {...part('healthyAfter')} />
    </>
  );
}
