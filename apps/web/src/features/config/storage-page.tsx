'use client';
// Storage of an app in one environment: its volumes, then what they hold.
import type { SnapshotSchedule } from '@fairlead/core/config/schema';
import type { ReactNode } from 'react';
import { ChoiceField, TextField } from '../../common/form/fields.tsx';
import { Line, ListCard, useRows } from '../../common/form/list-card.tsx';
import type { Draft } from './draft.ts';
import { SettingsForm, type SettingsPageProps } from './settings-form.tsx';

const SNAPSHOTS: readonly { readonly value: SnapshotSchedule; readonly label: string }[] = [
  { value: 'off', label: 'Off' },
  { value: 'hourly', label: 'Every hour' },
  { value: 'daily', label: 'Every day' },
];

interface StoragePageProps extends SettingsPageProps {
  /** Cards about the volumes' content. */
  readonly children: ReactNode;
}

export function StoragePage({ children, ...page }: StoragePageProps) {
  return (
    <div className="flex flex-col gap-6">
      <SettingsForm {...page} title="Storage">
        {({ draft }) => <MountsSection draft={draft} />}
      </SettingsForm>
      {children}
    </div>
  );
}

function MountsSection({ draft: { settings, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows(settings.volumes, (volumes) => set('volumes', volumes));
  return (
    <ListCard
      id="volumes"
      title="Volumes"
      detail="Persistent storage; removing a volume here keeps its data"
      add="Add volume"
      empty="No volumes. Files written elsewhere are lost with the release."
      error={rows.some((_, at) => problem(`volumes.${at}`) !== undefined) ? undefined : problem('volumes')}
      onAdd={() => add({ name: '', path: '', snapshots: 'off' })}
    >
      {rows.map(({ key, item }, at) => (
        <Line key={key} remove={`Remove ${item.name || 'the volume'}`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            hint={`Path in the app: $FAIRLEAD_VOLUMES/${item.name || 'name'}.`}
            error={problem(`volumes.${at}.name`)}
            value={item.name}
            placeholder="uploads"
            onValue={(name) => change(key, { ...item, name })}
          />
          <TextField
            label="Mount path in container"
            error={problem(`volumes.${at}.path`)}
            value={item.path}
            placeholder="/data"
            onValue={(path) => change(key, { ...item, path })}
          />
          <ChoiceField
            label="Snapshots"
            hint="Copies in the control plane, for a lost server. The newest three are kept."
            value={item.snapshots}
            options={SNAPSHOTS}
            onValue={(snapshots) => change(key, { ...item, snapshots })}
          />
        </Line>
      ))}
    </ListCard>
  );
}
