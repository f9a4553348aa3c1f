'use client';
import { ChoiceField, CommandField, NumberField } from '../../common/fields.tsx';
import { Section } from '../../common/section.tsx';
// How the app runs: its command, how its health is asked, and how much of a server it may take.
import { settingsOf } from './bind.ts';
import { CheckField } from './check-field.tsx';
import type { Draft } from './draft.ts';

export function RunSection({ draft }: { readonly draft: Draft }) {
  const setting = settingsOf(draft);
  return (
    <Section id="run" title="Run">
      <CommandField
        label="Start command"
        hint="Runs in a shell if it has quotes, variables such as $PORT, or &&. Default: the app's own, else detected."
        className="sm:col-span-2"
        placeholder="node server.js"
        {...setting('startCommand')}
      />
      <ChoiceField
        label="Listens on"
        hint="A container always has a port."
        options={[
          { value: 'auto', label: 'As fairlead.toml says, else a port' },
          { value: 'port', label: 'The port in PORT' },
          { value: 'socket', label: 'The Unix socket in FAIRLEAD_SOCKET' },
        ]}
        {...setting('listen')}
      />
      <CheckField label="Ready when" none="As the app says" {...setting('health')} />
      <NumberField label="Ready within" unit="seconds" {...setting('healthTimeoutMs')} />
      <CheckField
        label="Alive as long as"
        hint="Three failures in a row restart the instance."
        none="Not asked"
        {...setting('liveness')}
      />
      <NumberField
        label="Memory"
        hint="Of each instance."
        unit="mebibytes"
        zero="No limit"
        {...setting('memoryBytesMax')}
      />
      <NumberField label="CPU" hint="Of each instance." unit="cores" zero="No limit" {...setting('cpuMillisMax')} />
      <NumberField label="Processes and threads" zero="No limit" {...setting('processesMax')} />
      <NumberField
        label="Requests in flight may take"
        hint="After the switch, before SIGTERM."
        unit="seconds"
        {...setting('drainTimeoutMs')}
      />
      <NumberField label="Time to stop" hint="From SIGTERM to SIGKILL." unit="seconds" {...setting('stopGraceMs')} />
    </Section>
  );
}
