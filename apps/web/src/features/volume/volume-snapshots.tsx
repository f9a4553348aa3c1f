'use client';
// Snapshots of a volume: the stored ones, the one that is being taken, and the last failure.
import type { VolumeId } from '@fairlead/contract/ids';
import { Button } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { VolumeSnapshot } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';

export function SnapshotNow({ volumeId }: { readonly volumeId: VolumeId }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const take = useAction(useMutation(trpc.volume.createSnapshot.mutationOptions()), "The snapshot didn't start", () => {
    void queryClient.invalidateQueries(trpc.volume.pathFilter());
    toast({ title: 'The server takes a snapshot' });
  });
  if (!can('app.write')) return null;
  return (
    <Button size="small" pending={take.pending} onClick={() => take.run({ volumeId })}>
      Snapshot now
    </Button>
  );
}

export function VolumeSnapshots({ volumeId }: { readonly volumeId: VolumeId }) {
  const trpc = useTRPC();
  const items = useQuery(trpc.volume.listSnapshots.queryOptions({ volumeId })).data?.items ?? [];
  const stored = items.filter(({ state }) => state === 'stored');
  // An older failure has been made good.
  const shown = [...items.slice(0, 1).filter(({ state }) => state !== 'stored'), ...stored];
  if (shown.length === 0) return null;
  return (
    <ul className="flex basis-full flex-col gap-1 text-ink-soft text-sm">
      {shown.map((snapshot) => (
        <SnapshotLine key={snapshot.snapshotId} snapshot={snapshot} />
      ))}
    </ul>
  );
}

function SnapshotLine({ snapshot }: { readonly snapshot: VolumeSnapshot }) {
  const { formatBytes } = useFormats();
  const { state, serverName, sizeBytes, failureMessage, createdAt } = snapshot;
  const server = serverName ?? 'a removed server';
  if (state === 'running') {
    return (
      <li>
        <StateText tone="busy">Taking a snapshot on {server}</StateText>
      </li>
    );
  }
  if (state === 'failed') {
    return (
      <li className="flex flex-wrap gap-x-2">
        <StateText tone="bad">
          <span>
            Snapshot failed <RelativeTime at={createdAt} />
          </span>
        </StateText>
        <span className="text-pretty">{failureMessage}</span>
      </li>
    );
  }
  return (
    <li>
      Snapshot <RelativeTime at={createdAt} /> of {server}, {formatBytes(sizeBytes)} packed
    </li>
  );
}
