'use client';
// How the app runs: its command, how its health is asked, and how much of a server it may take.
import { Card, CardHeader } from '@fairlead/ui/card';
import { CommandField, NumberField } from '../../common/fields.tsx';
import { CheckField } from './check-field.tsx';
import type { Draft } from './draft.ts';

export function RunSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  return (
    <Card>
      <CardHeader title="Run" />
      <div className="grid grid-cols-1 gap-5 border-line border-t p-5 sm:grid-cols-2">
        <CommandField
          label="Start command"
          hint="Program and arguments; no shell runs it. Empty: the app's own, else what is detected."
          className="sm:col-span-2"
          error={problem('startCommand')}
          value={settings.startCommand}
          placeholder="node server.js"
          onValue={(value) => set('startCommand', value)}
        />
        <CheckField
          label="Ready when"
          none="As the app says"
          error={problem('health')}
          value={settings.health}
          onValue={(value) => set('health', value)}
        />
        <NumberField
          label="Ready within"
          unit="seconds"
          error={problem('healthTimeoutMs')}
          value={settings.healthTimeoutMs}
          onValue={(value) => set('healthTimeoutMs', value)}
        />
        <CheckField
          label="Alive as long as"
          hint="Three failures in a row restart the instance."
          none="Not asked"
          error={problem('liveness')}
          value={settings.liveness}
          onValue={(value) => set('liveness', value)}
        />
        <NumberField
          label="Memory"
          hint="Of each instance."
          unit="mebibytes"
          zero="No limit"
          error={problem('memoryBytesMax')}
          value={settings.memoryBytesMax}
          onValue={(value) => set('memoryBytesMax', value)}
        />
        <NumberField
          label="CPU"
          hint="Of each instance."
          unit="cores"
          zero="No limit"
          error={problem('cpuMillisMax')}
          value={settings.cpuMillisMax}
          onValue={(value) => set('cpuMillisMax', value)}
        />
        <NumberField
          label="Processes and threads"
          zero="No limit"
          error={problem('processesMax')}
          value={settings.processesMax}
          onValue={(value) => set('processesMax', value)}
        />
        <NumberField
          label="Requests in flight may take"
          hint="After the switch, before SIGTERM."
          unit="seconds"
          error={problem('drainTimeoutMs')}
          value={settings.drainTimeoutMs}
          onValue={(value) => set('drainTimeoutMs', value)}
        />
        <NumberField
          label="Time to stop"
          hint="From SIGTERM to SIGKILL."
          unit="seconds"
          error={problem('stopGraceMs')}
          value={settings.stopGraceMs}
          onValue={(value) => set('stopGraceMs', value)}
        />
      </div>
    </Card>
  );
}
