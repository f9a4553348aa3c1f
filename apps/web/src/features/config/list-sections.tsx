'use client';
// Settings that are lists: variables, further processes, and the folders that outlive a release.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { CrossIcon } from '@fairlead/ui/cross-icon';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Settings } from '../../api/types.ts';
import type { Draft } from './draft.ts';
import { CommandField, NumberField, TextField } from './fields.tsx';

interface ListCardProps {
  readonly title: string;
  readonly detail: string;
  readonly add: string;
  readonly empty: string;
  readonly error: string | undefined;
  readonly onAdd: () => void;
  readonly children: readonly ReactNode[];
}

function ListCard({ title, detail, add, empty, error, onAdd, children }: ListCardProps) {
  return (
    <Card>
      <CardHeader title={title} detail={detail} />
      <div className="flex flex-col gap-4 border-line border-t p-4">
        {children.length === 0 ? <p className="text-ink-faint text-sm">{empty}</p> : children}
        {error === undefined ? null : <ErrorNote>{error}</ErrorNote>}
        <Button className="self-start" icon={<Plus size={15} aria-hidden="true" />} onClick={onAdd}>
          {add}
        </Button>
      </div>
    </Card>
  );
}

interface LineProps {
  readonly remove: string;
  readonly onRemove: () => void;
  readonly children: ReactNode;
}

function Line({ remove, onRemove, children }: LineProps) {
  return (
    <div className="flex items-start gap-3">
      <div className="grid min-w-0 flex-1 gap-3 sm:grid-cols-2">{children}</div>
      <IconButton label={remove} className="mt-[27px]" onClick={onRemove}>
        <CrossIcon />
      </IconButton>
    </div>
  );
}

/** Rows keep a key of their own: what is typed into one must not move when another goes. */
function useRows<Item>(first: readonly Item[], save: (items: Item[]) => void) {
  const [rows, setRows] = useState(() => first.map((item, key) => ({ key, item })));
  const put = (next: typeof rows) => {
    setRows(next);
    save(next.map(({ item }) => item));
  };
  return {
    rows,
    add: (item: Item) => put([...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, item }]),
    remove: (key: number) => put(rows.filter((row) => row.key !== key)),
    change: (key: number, item: Item) => put(rows.map((row) => (row.key === key ? { key, item } : row))),
  };
}

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
      onAdd={() => add({ name: '', command: [], instances: 1, memoryBytesMax: 0, cpuMillisMax: 0 })}
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
