'use client';
// Volumes of an app that a move copies: from the server, or from their newest snapshots.
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import type { ServerDrain } from '../../api/types.ts';

export interface VolumeCopiesProps {
  readonly volumes: ServerDrain['apps'][number]['volumes'];
  readonly isOffline: boolean;
}

export function VolumeCopies({ volumes, isOffline }: VolumeCopiesProps) {
  const { formatBytes } = useFormats();
  return volumes.map(({ name, usedBytes, snapshotAt }) => (
    <span key={name} className="block text-sm">
      <span className="font-mono text-xs">{name}</span>
      {usedBytes === null ? '' : `, ${formatBytes(usedBytes)}`}
      {!isOffline ? null : snapshotAt === null ? (
        <span className="text-warn-text">, no snapshot</span>
      ) : (
        <>
          , snapshot <RelativeTime at={snapshotAt} />
        </>
      )}
    </span>
  ));
}
