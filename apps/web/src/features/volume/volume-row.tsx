'use client';
// Volume with its size. A deletion waits a week and can be undone until then.
import { Button } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Badge, StateText } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Volume } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { SnapshotNow, VolumeSnapshots } from './volume-snapshots.tsx';

/** `label` names the app and environment where the page does not show them. */
export function VolumeRow({ volume, label }: { readonly volume: Volume; readonly label?: string }) {
  const { formatBytes } = useFormats();
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [asking, setAsking] = useState(false);
  const refetch = () => void queryClient.invalidateQueries(trpc.volume.pathFilter());
  const remove = useMutation(trpc.volume.delete.mutationOptions());
  const restore = useAction(useMutation(trpc.volume.restore.mutationOptions()), "The volume wasn't restored", () => {
    refetch();
    toast({ title: `${volume.name} stays` });
  });
  const { id: volumeId, name, deleteAt } = volume;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-line border-t px-4 py-2.5">
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate">
          <span className="font-mono text-sm">{name}</span>
          {label === undefined ? null : <span className="text-ink-soft"> of {label}</span>}
        </span>
        <span className="block text-ink-faint text-sm">
          {formatBytes(volume.usedBytes)}
          {volume.used.length > 1 ? ` on ${volume.used.length} servers` : ''}
          {volume.reportedAt === null ? (
            ', not reported yet'
          ) : (
            <>
              , reported <RelativeTime at={volume.reportedAt} />
            </>
          )}
        </span>
      </span>
      {deleteAt === null ? (
        volume.inUse ? (
          <Badge>in use</Badge>
        ) : null
      ) : (
        <StateText tone="warn">
          <span>
            deleted <RelativeTime at={deleteAt} />
          </span>
        </StateText>
      )}
      {label === undefined && deleteAt === null ? <SnapshotNow volumeId={volumeId} /> : null}
      {!can('app.delete', {}) ? null : deleteAt === null ? (
        <Button
          size="small"
          variant="danger-outline"
          disabled={volume.inUse}
          title={volume.inUse ? 'Settings or the live release still use it. Remove it and deploy first.' : undefined}
          onClick={() => setAsking(true)}
        >
          Delete
        </Button>
      ) : (
        <Button size="small" pending={restore.pending} onClick={() => restore.run({ volumeId })}>
          Cancel
        </Button>
      )}
      {label === undefined ? <VolumeSnapshots volumeId={volumeId} /> : null}
      {asking ? (
        <ConfirmDelete
          open
          onClose={() => setAsking(false)}
          what="volume"
          name={name}
          consequences={`In seven days its ${formatBytes(volume.usedBytes)} are deleted from every server. Until then you can restore it here.`}
          pending={remove.isPending}
          error={remove.error}
          onConfirm={(confirmName) =>
            remove.mutate(
              { volumeId, confirmName },
              {
                onSuccess: () => {
                  setAsking(false);
                  refetch();
                  toast({
                    tone: 'warn',
                    title: `${name} is deleted in seven days`,
                    action: { label: 'Undo', onSelect: () => restore.run({ volumeId }) },
                  });
                },
              },
            )
          }
        />
      ) : null}
    </li>
  );
}
