'use client';
// Traffic settings: load balancing, request queue, timeouts, retries and failed instances.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import type { BoundField, Draft } from './draft.ts';

type Traffic = Settings['traffic'];
type HealthCheck = NonNullable<Traffic['healthCheck']>;

const AT_ONCE = 'Takes effect as soon as it is saved';
const FIRST_HEALTH_CHECK: HealthCheck = {
  path: '/',
  intervalMs: 5000,
  timeoutMs: 2000,
  healthyThreshold: 1,
  unhealthyThreshold: 3,
};
const FIRST_COOKIE = 'instance';

export function TrafficSections({ draft }: { readonly draft: Draft }) {
  return (
    <>
      <LoadBalancingSection draft={draft} />
      <QueueSection draft={draft} />
      <FailureSection draft={draft} />
    </>
  );
}

/** Binds a field to a part of the traffic settings by name. */
function trafficOf({ settings, set, problem }: Draft) {
  return <Name extends keyof Traffic>(name: Name): BoundField<Traffic[Name]> => ({
    value: settings.traffic[name],
    error: problem(`traffic.${name}`),
    onValue: (value) => set('traffic', { ...settings.traffic, [name]: value }),
  });
}

function LoadBalancingSection({ draft }: { readonly draft: Draft }) {
  const traffic = trafficOf(draft);
  const { stickySessions: sticky } = draft.settings.traffic;
  const { onValue: setSticky, error: stickyError } = traffic('stickySessions');
  return (
    <Section title="Traffic" detail={AT_ONCE}>
      <ChoiceField
        label="Upstream protocol"
        hint="HTTP/2 is used without TLS, as for gRPC; health checks then test the port."
        options={[
          { value: 'http1', label: 'HTTP/1.1' },
          { value: 'http2', label: 'HTTP/2' },
        ]}
        {...traffic('upstreamProtocol')}
      />
      <ChoiceField
        label="Load balancing"
        options={[
          { value: 'least_loaded', label: 'Least loaded' },
          { value: 'round_robin', label: 'Round robin' },
        ]}
        {...traffic('loadBalancing')}
      />
      <ChoiceField
        label="Sticky sessions"
        value={sticky?.kind ?? 'none'}
        options={[
          { value: 'none', label: 'Off' },
          { value: 'cookie', label: 'Cookie' },
          { value: 'client_address', label: 'Client address' },
        ]}
        onValue={(kind) =>
          setSticky(kind === 'none' ? null : kind === 'cookie' ? { kind, name: FIRST_COOKIE } : { kind })
        }
      />
      {sticky?.kind === 'cookie' ? (
        <TextField
          label="Cookie name"
          error={stickyError}
          value={sticky.name}
          onValue={(name) => setSticky({ kind: 'cookie', name })}
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
  const { value: loadShedding, onValue: setLoadShedding } = traffic('loadShedding');
  return (
    <Section title="Queueing" detail={AT_ONCE}>
      <NumberField
        label="Queue length"
        hint="Per server; requests beyond it get 503."
        zero="None"
        {...traffic('queueLengthMax')}
      />
      <NumberField label="Queue timeout" hint="Then 503." unit="seconds" {...traffic('queueTimeoutMs')} />
      <NumberField
        label="Connections per instance"
        hint="Default: adapts to the app"
        zero="Automatic"
        {...traffic('connectionsPerInstance')}
      />
      <NumberField
        label="In-flight per instance"
        hint="Requests beyond it wait."
        zero="Same as connections"
        {...traffic('inFlightPerInstance')}
      />
      <NumberField
        label="In-flight per app"
        hint="Per server; requests beyond it wait."
        zero="No limit"
        {...traffic('inFlightPerApp')}
      />
      <NumberField
        label="Retry budget"
        hint="Percent of requests that may be retried, where a retry is safe."
        zero="None"
        {...traffic('retryBudgetPercent')}
      />
      <Checkbox
        className="sm:col-span-2"
        label="Load shedding"
        hint="Rejects requests of low priority first when the queue stays long."
        checked={loadShedding}
        onChange={(event) => setLoadShedding(event.target.checked)}
      />
    </Section>
  );
}

function FailureSection({ draft }: { readonly draft: Draft }) {
  const { problem, settings } = draft;
  const traffic = trafficOf(draft);
  const { value: ejection, onValue: setEjection } = traffic('outlierEjection');
  const { onValue: setHealthCheck } = traffic('healthCheck');
  const { healthCheck } = settings.traffic;
  const ejected = <Name extends keyof Traffic['outlierEjection']>(name: Name) => ({
    value: ejection[name],
    error: problem(`traffic.outlierEjection.${name}`),
    onValue: (value: number) => setEjection({ ...ejection, [name]: value }),
  });
  return (
    <Section title="Outlier ejection" detail={AT_ONCE}>
      <NumberField
        label="Consecutive failures"
        hint="Then the instance is ejected."
        zero="Never"
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
      <Checkbox
        className="sm:col-span-2"
        label="Active health checks"
        checked={healthCheck !== null}
        onChange={(event) => setHealthCheck(event.target.checked ? FIRST_HEALTH_CHECK : null)}
      />
      {healthCheck === null ? null : (
        <HealthCheckFields healthCheck={healthCheck} problem={problem} onHealthCheck={setHealthCheck} />
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
      <NumberField label="Unhealthy threshold" hint="Failed checks in a row." min={1} {...part('unhealthyThreshold')} />
      <NumberField label="Healthy threshold" hint="Passed checks in a row." min={1} {...part('healthyThreshold')} />
    </>
  );
}
