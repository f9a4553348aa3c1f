'use client';
import { ChoiceField, CommandField, NumberField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
// Run settings: the command, the health check and resource limits.
import { CheckField } from './check-field.tsx';
import { bindSettings, type Draft } from './draft.ts';

export function RunSection({ draft }: { readonly draft: Draft }) {
  const setting = bindSettings(draft);
  return (
    <Section id="run" title="Run">
      <CommandField
        label="Start command"
        hint="Runs in a shell if it has quotes, variables such as $PORT, or &&. Default: the app's own or detected"
        className="sm:col-span-2"
        placeholder="node server.js"
        {...setting('startCommand')}
      />
      <ChoiceField
        label="Listens on"
        hint="A container always has a port."
        options={[
          { value: 'auto', label: 'Default: fairlead.toml or a port' },
          { value: 'port', label: 'Port in PORT' },
          { value: 'socket', label: 'Unix socket in FAIRLEAD_SOCKET' },
        ]}
        {...setting('listen')}
      />
      <CheckField label="Readiness check" none="From app settings" {...setting('readinessCheck')} />
      <NumberField label="Start timeout" unit="seconds" {...setting('startTimeoutMs')} />
      <CheckField
        label="Liveness check"
        hint="Three failures in a row restart the instance."
        none="None"
        {...setting('livenessCheck')}
      />
      <NumberField
        label="Memory"
        hint="Per instance."
        unit="mebibytes"
        zero="No limit"
        {...setting('memoryBytesMax')}
      />
      <NumberField label="CPU" hint="Per instance." unit="cores" zero="No limit" {...setting('cpuMillisMax')} />
      <NumberField label="Processes and threads" zero="4,096" {...setting('processesMax')} />
      <NumberField
        label="Drain timeout"
        hint="For requests in flight after the switch, before SIGTERM."
        unit="seconds"
        {...setting('drainTimeoutMs')}
      />
      <NumberField label="Stop timeout" hint="From SIGTERM to SIGKILL." unit="seconds" {...setting('stopTimeoutMs')} />
    </Section>
  );
}
