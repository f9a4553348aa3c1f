'use client';
// Settings that are lists: variables, further processes, and the folders that outlive a release.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { CommandField, NumberField, TextField } from '../../common/fields.tsx';
import { Line, ListCard, useRows } from '../../common/list-card.tsx';
import type { Draft } from './draft.ts';

export function VariablesSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows(Object.entries(settings.variables), (entries) =>
    set('variables', Object.fromEntries(entries.filter(([name]) => name !== ''))),
  );
  return (
    <ListCard
      title="Variables"
      detail="Everybody who sees the app reads them; keys and passwords are secrets"
      add="Add a variable"
      empty="None. PORT and NODE_ENV are set by Fairlead."
      error={problem('variables')}
      onAdd={() => add(['', ''])}
    >
      {rows.map(({ key, item: [name, value] }) => (
        <Line key={key} remove={`Remove ${name || 'the variable'}`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            value={name}
            placeholder="LOG_LEVEL"
            onValue={(next) => change(key, [next.trim(), value])}
          />
          <TextField label="Value" value={value} placeholder="info" onValue={(next) => change(key, [name, next])} />
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
      title="Workers"
      detail="Further processes of the same release, without a port"
      add="Add a worker"
      empty="None, but those of a fairlead.toml or a Procfile."
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
            hint="On each server."
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
            label="Runs on while the app sleeps"
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
      title="Volumes"
      detail="Folders that outlive a release; taking one out here deletes nothing"
      add="Add a volume"
      empty="None. What the app writes elsewhere is gone with its release."
      error={problem('volumes')}
      onAdd={() => add({ name: '', path: '' })}
    >
      {rows.map(({ key, item }) => (
        <Line key={key} remove={`Take ${item.name || 'the volume'} out`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            hint={`The app finds it at $FAIRLEAD_VOLUMES/${item.name || 'name'}.`}
            value={item.name}
            placeholder="uploads"
            onValue={(name) => change(key, { ...item, name })}
          />
          <TextField
            label="Folder in a container"
            value={item.path}
            placeholder="/data"
            onValue={(path) => change(key, { ...item, path })}
          />
        </Line>
      ))}
    </ListCard>
  );
}
