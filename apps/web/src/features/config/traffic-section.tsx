'use client';
// Traffic settings: load balancing, request queue, timeouts, retries and failed instances.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
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

/** Binds a field to a part of the traffic settings by name. */
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
        label="Upstream protocol"
        hint="HTTP/2 is used without TLS, as for gRPC; health checks then test the port."
        options={[
          { value: 'http1', label: 'HTTP/1.1' },
          { value: 'http2', label: 'HTTP/2' },
        ]}
        {...traffic('protocol')}
      />
      <ChoiceField
        label="Load balancing"
        options={[
          { value: 'least_in_flight', label: 'Least busy of two' },
          { value: 'round_robin', label: 'Round robin' },
        ]}
        {...traffic('balance')}
      />
      <ChoiceField
        label="Sticky sessions"
        value={sticky?.kind ?? 'none'}
        options={[
          { value: 'none', label: 'No' },
          { value: 'cookie', label: 'Cookie' },
          { value: 'client', label: 'Client address' },
        ]}
        onValue={(kind) => tie(kind === 'none' ? null : kind === 'cookie' ? { kind, name: FIRST_COOKIE } : { kind })}
      />
      {sticky?.kind === 'cookie' ? (
        <TextField
          label="Cookie name"
          error={stickyError}
          value={sticky.name}
          onValue={(name) => tie({ kind: 'cookie', name })}
        />
      ) : null}
      <NumberField
        label="Slow start"
        hint="Ramps up traffic to a new instance while others are warm."
        unit="seconds"
        zero="Off"
        {...traffic('slowStartMs')}
      />
      <NumberField
        label="Response timeout"
        hint="Until the response begins; then 504."
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
    <Section title="Queueing" detail={AT_ONCE}>
      <NumberField
        label="Queue length"
        hint="Per core; requests beyond it get 503."
        zero="None"
        {...traffic('queueMax')}
      />
      <NumberField label="Queue timeout" hint="Then 503." unit="seconds" {...traffic('queueTimeoutMs')} />
      <NumberField
        label="Connections per instance"
        hint="Per core. Default: adapts to the app"
        zero="Automatic"
        {...traffic('connectionsPerInstance')}
      />
      <NumberField
        label="In-flight per instance"
        hint="Per core; requests beyond it wait."
        zero="Same as connections"
        {...traffic('inFlightPerInstance')}
      />
      <NumberField
        label="In-flight per app"
        hint="Per core; requests beyond it wait."
        zero="No limit"
        {...traffic('inFlightMax')}
      />
      <NumberField
        label="Retry budget"
        hint="Percent of requests that may be retried, where a retry is safe."
        zero="None"
        {...traffic('retryPercentMax')}
      />
      <Checkbox
        className="sm:col-span-2"
        label="Shed low-priority requests"
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
    <Section title="Outlier ejection" detail={AT_ONCE}>
      <NumberField label="Eject after" hint="Consecutive failures." zero="Never" {...ejected('failures')} />
      {ejection.failures === 0 ? null : (
        <>
          <NumberField label="Ejection time" hint="Grows with each ejection." unit="seconds" {...ejected('periodMs')} />
          <NumberField label="Max ejected" hint="Percent of instances." {...ejected('percentMax')} />
        </>
      )}
      <Checkbox
        className="sm:col-span-2"
        label="Active health checks"
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
        label="Health check path"
        hint="Must return 2xx or 3xx. Default: TCP connection"
        placeholder="/health"
        {...part('path')}
      />
      <NumberField label="Interval" unit="seconds" {...part('intervalMs')} />
      <NumberField label="Check timeout" unit="seconds" {...part('timeoutMs')} />
      <NumberField label="Unhealthy threshold" hint="Bad answers in a row." min={1} {...part('unhealthyAfter')} />
      <NumberField label="Healthy threshold" hint="Good answers in a row." min={1} {...part('healthyAfter')} />
    </>
  );
}
