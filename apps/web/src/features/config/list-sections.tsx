'use client';
// Settings that are lists: variables, additional processes, and volumes.
import type { VariableScope } from '@fairlead/core/config/schema';
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { ChoiceField, CommandField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Line, ListCard, useRows } from '../../common/form/list-card.tsx';
import type { Draft } from './draft.ts';

const SCOPES: readonly { readonly value: VariableScope; readonly label: string }[] = [
  { value: 'both', label: 'Build and run' },
  { value: 'build', label: 'Build only' },
  { value: 'run', label: 'Run only' },
];

export function VariablesSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows(Object.entries(settings.variables), (entries) =>
    set('variables', Object.fromEntries(entries.filter(([name]) => name !== ''))),
  );
  return (
    <ListCard
      id="variables"
      title="Variables"
      detail="Visible to everyone with access to the app; use Secrets for keys and passwords"
      add="Add variable"
      empty="No variables. Fairlead sets PORT, NODE_ENV and its own, such as FAIRLEAD_URL."
      error={problem('variables')}
      onAdd={() => add(['', { value: '', scope: 'both' }])}
    >
      {rows.map(({ key, item: [name, variable] }) => (
        <Line
          key={key}
          columns="sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_11rem]"
          remove={`Remove ${name || 'the variable'}`}
          onRemove={() => remove(key)}
        >
          <TextField
            label="Name"
            value={name}
            placeholder="LOG_LEVEL"
            onValue={(next) => change(key, [next.trim(), variable])}
          />
          <TextField
            label="Value"
            value={variable.value}
            placeholder="info"
            onValue={(value) => change(key, [name, { ...variable, value }])}
          />
          <ChoiceField
            label="Scope"
            value={variable.scope}
            options={SCOPES}
            onValue={(scope) => change(key, [name, { ...variable, scope }])}
          />
        </Line>
      ))}
    </ListCard>
  );
}

type Worker = Settings['workers'][number];

export function WorkersSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows<Worker>(settings.workers, (workers) => set('workers', workers));
  return (
    <ListCard
      id="workers"
      title="Workers"
      detail="Background processes of the same release, without a port"
      add="Add worker"
      empty="No workers, except those in a fairlead.toml or Procfile."
      error={problem('workers')}
      onAdd={() => add({ name: '', command: [], instances: 1, memoryBytesMax: 0, cpuMillisMax: 0, staysAwake: false })}
    >
      {rows.map(({ key, item }) => (
        <Line key={key} remove={`Remove ${item.name || 'the worker'}`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            value={item.name}
            placeholder="mailer"
            onValue={(name) => change(key, { ...item, name })}
          />
          <CommandField
            label="Command"
            value={item.command}
            placeholder="node mailer.js"
            onValue={(command) => change(key, { ...item, command })}
          />
          <NumberField
            label="Instances"
            hint="Per server."
            value={item.instances}
            onValue={(instances) => change(key, { ...item, instances })}
          />
          <NumberField
            label="Memory"
            unit="mebibytes"
            zero="No limit"
            value={item.memoryBytesMax}
            onValue={(memoryBytesMax) => change(key, { ...item, memoryBytesMax })}
          />
          <Checkbox
            label="Stays awake"
            hint="Keeps running while the app sleeps."
            checked={item.staysAwake}
            onChange={(event) => change(key, { ...item, staysAwake: event.target.checked })}
          />
        </Line>
      ))}
    </ListCard>
  );
}

export function MountsSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows(settings.volumes, (volumes) => set('volumes', volumes));
  return (
    <ListCard
      id="volumes"
      title="Volumes"
      detail="Persistent storage; removing a volume here keeps its data"
      add="Add volume"
      empty="No volumes. Files written elsewhere are lost with the release."
      error={problem('volumes')}
      onAdd={() => add({ name: '', path: '' })}
    >
      {rows.map(({ key, item }) => (
        <Line key={key} remove={`Remove ${item.name || 'the volume'}`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            hint={`Path in the app: $FAIRLEAD_VOLUMES/${item.name || 'name'}.`}
            value={item.name}
            placeholder="uploads"
            onValue={(name) => change(key, { ...item, name })}
          />
          <TextField
            label="Mount path in container"
            value={item.path}
            placeholder="/data"
            onValue={(path) => change(key, { ...item, path })}
          />
        </Line>
      ))}
    </ListCard>
  );
}
