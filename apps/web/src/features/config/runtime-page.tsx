'use client';
// Runtime settings of an app: command, resource limits, workers and network.
import { commandLine } from '@fairlead/core/kernel/command';
import { ChoiceField, CommandField, NumberField } from '../../common/form/fields.tsx';
import { Advanced, Section } from '../../common/form/section.tsx';
import { defaults } from './defaults.ts';
import { bindApp, bindSettings } from './draft.ts';
import { NetworkSection } from './network-section.tsx';
import { type SectionProps, SettingsForm, type SettingsPageProps } from './settings-form.tsx';
import { WorkersSection } from './workers-section.tsx';

export function RuntimeSettings(page: SettingsPageProps) {
  return (
    <SettingsForm {...page} title="Runtime">
      {(section) => (
        <>
          <RunSection {...section} />
          <WorkersSection draft={section.draft} />
          <NetworkSection draft={section.draft} />
        </>
      )}
    </SettingsForm>
  );
}

function RunSection({ draft }: SectionProps) {
  const setting = bindSettings(draft);
  const { settings, app } = draft;
  const { listen, processesMax, drainTimeoutMs, stopTimeoutMs } = settings;
  const { value: command, ...defaultCommand } = bindApp(draft)('command');
  const hasRare =
    listen !== 'auto' ||
    processesMax > 0 ||
    drainTimeoutMs !== defaults.drainTimeoutMs ||
    stopTimeoutMs !== defaults.stopTimeoutMs ||
    command.length > 0;
  return (
    <Section title="Process">
      <CommandField
        label="Start command"
        hint="Runs in a shell if it has quotes, variables such as $PORT, or &&."
        className="sm:col-span-2"
        placeholder={commandLine(app.command) || 'Detected'}
        {...setting('startCommand')}
      />
      <NumberField
        label="Memory"
        hint="Per instance."
        unit="mebibytes"
        zero="No limit"
        {...setting('memoryBytesMax')}
      />
      <NumberField label="CPU" hint="Per instance." unit="cores" zero="No limit" {...setting('cpuMillisMax')} />
      <Advanced open={hasRare}>
        <CommandField
          label="Default start command"
          hint="In all environments without a start command of their own."
          className="sm:col-span-2"
          placeholder="Detected"
          value={command}
          {...defaultCommand}
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
        <NumberField label="Processes and threads" hint="Per instance." zero="4,096" {...setting('processesMax')} />
        <NumberField
          label="Drain timeout"
          hint="For requests in flight after the switch, before SIGTERM."
          unit="seconds"
          standard={defaults.drainTimeoutMs}
          {...setting('drainTimeoutMs')}
        />
        <NumberField
          label="Stop timeout"
          hint="From SIGTERM to SIGKILL."
          unit="seconds"
          standard={defaults.stopTimeoutMs}
          {...setting('stopTimeoutMs')}
        />
      </Advanced>
    </Section>
  );
}
