'use client';
// Traffic settings: load balancing, timeouts, retries and the request queue.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Advanced, Section } from '../../common/form/section.tsx';
import { trafficDefaults } from './defaults.ts';
import type { Draft } from './draft.ts';
import { SettingsForm, type SettingsPageProps } from './settings-form.tsx';
import { AT_ONCE, trafficOf } from './traffic.ts';

const FIRST_COOKIE = 'instance';

export function TrafficSettings(page: SettingsPageProps) {
  return (
    <SettingsForm {...page} title="Traffic">
      {({ draft }) => (
        <>
          <LoadBalancingSection draft={draft} />
          <QueueSection draft={draft} />
        </>
      )}
    </SettingsForm>
  );
}

function LoadBalancingSection({ draft }: { readonly draft: Draft }) {
  const traffic = trafficOf(draft);
  const { stickySessions: sticky, slowStartMs, retryBudgetPercent } = draft.settings.traffic;
  const { onValue: setSticky, error: stickyError } = traffic('stickySessions');
  return (
    <Section title="Load balancing and timeouts" detail={AT_ONCE}>
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
        hint="Keeps a visitor on the same instance."
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
        label="Response timeout"
        hint="Until the response begins; then 504."
        unit="seconds"
        standard={trafficDefaults.responseTimeoutMs}
        {...traffic('responseTimeoutMs')}
      />
      <Advanced open={slowStartMs > 0 || retryBudgetPercent !== trafficDefaults.retryBudgetPercent}>
        <NumberField
          label="Slow start"
          hint="Ramps up traffic to a new instance while others are warm."
          unit="seconds"
          zero="Off"
          {...traffic('slowStartMs')}
        />
        <NumberField
          label="Retry budget"
          hint="Percent of requests that may be retried, where a retry is safe. 0: none."
          standard={trafficDefaults.retryBudgetPercent}
          {...traffic('retryBudgetPercent')}
        />
      </Advanced>
    </Section>
  );
}

type Limit = 'connectionsPerInstance' | 'inFlightPerInstance' | 'inFlightPerApp';
const LIMITS: readonly Limit[] = ['connectionsPerInstance', 'inFlightPerInstance', 'inFlightPerApp'];

function isSet({ loadShedding, ...traffic }: Settings['traffic']): boolean {
  return loadShedding || LIMITS.some((name) => traffic[name] > 0);
}

function QueueSection({ draft }: { readonly draft: Draft }) {
  const traffic = trafficOf(draft);
  const { value: loadShedding, onValue: setLoadShedding } = traffic('loadShedding');
  return (
    <Section title="Queueing and concurrency" detail={AT_ONCE}>
      <NumberField
        label="Queue length"
        hint="Per server; requests beyond it get 503. 0: no queue."
        standard={trafficDefaults.queueLengthMax}
        {...traffic('queueLengthMax')}
      />
      <NumberField
        label="Queue timeout"
        hint="Then 503."
        unit="seconds"
        standard={trafficDefaults.queueTimeoutMs}
        {...traffic('queueTimeoutMs')}
      />
      <Advanced open={isSet(draft.settings.traffic)}>
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
        <Checkbox
          className="sm:col-span-2"
          label="Load shedding"
          hint="Rejects requests of low priority first when the queue stays long."
          checked={loadShedding}
          onChange={(event) => setLoadShedding(event.target.checked)}
        />
      </Advanced>
    </Section>
  );
}
