'use client';
// Workers of an app: further processes of a release.
import { Checkbox } from '@fairlead/ui/input';
import type { Settings } from '../../api/types.ts';
import { CommandField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Line, ListCard, useRows } from '../../common/form/list-card.tsx';
import type { Draft } from './draft.ts';

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
      error={rows.some((_, at) => problem(`workers.${at}`) !== undefined) ? undefined : problem('workers')}
      onAdd={() => add({ name: '', command: [], instances: 1, memoryBytesMax: 0, cpuMillisMax: 0, staysAwake: false })}
    >
      {rows.map(({ key, item }, at) => (
        <Line key={key} remove={`Remove ${item.name || 'the worker'}`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            error={problem(`workers.${at}.name`)}
            value={item.name}
            placeholder="mailer"
            onValue={(name) => change(key, { ...item, name })}
          />
          <CommandField
            label="Command"
            error={problem(`workers.${at}.command`)}
            value={item.command}
            placeholder="node mailer.js"
            onValue={(command) => change(key, { ...item, command })}
          />
          <NumberField
            label="Instances"
            hint="Per server."
            error={problem(`workers.${at}.instances`)}
            value={item.instances}
            onValue={(instances) => change(key, { ...item, instances })}
          />
          <NumberField
            label="Memory"
            error={problem(`workers.${at}.memoryBytesMax`)}
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
