'use client';
// Disk usage of a server: the agent's files by kind, everything else, and the forecast of when the disk is full.
import { Card, CardHeader } from '@fairlead/ui/card';
import { formatBytes } from '@fairlead/ui/lib/format';
import { Meter } from '@fairlead/ui/meter';
import { RelativeTime } from '@fairlead/ui/relative-time';
import type { ServerDetail } from '../../api/types.ts';

type Disk = NonNullable<ServerDetail['disk']>;

export function ServerDisk({ disk }: { readonly disk: Disk }) {
  const { totalBytes, freeBytes, fullUnixMs } = disk;
  const kinds = [
    { label: 'Artifacts', bytes: disk.artifactsBytes },
    { label: 'Build caches', bytes: disk.cachesBytes },
    { label: 'Images', bytes: disk.imagesBytes },
    { label: 'App logs', bytes: disk.logsBytes },
    { label: 'Volumes', bytes: disk.volumesBytes },
  ];
  const own = kinds.reduce((total, { bytes }) => total + bytes, 0);
  const rows = [...kinds, { label: 'Other', bytes: Math.max(0, totalBytes - freeBytes - own) }];
  return (
    <Card>
      <CardHeader
        title="Disk"
        detail={
          <>
            {formatBytes(freeBytes)} free of {formatBytes(totalBytes)}
            {fullUnixMs === 0 ? null : (
              <>
                , full <RelativeTime at={new Date(fullUnixMs)} /> at this pace
              </>
            )}
          </>
        }
      />
      <div className="grid gap-x-6 gap-y-4 border-line border-t p-4 sm:grid-cols-2 lg:grid-cols-3">
        {rows.map(({ label, bytes }) => (
          <Meter
            key={label}
            label={label}
            share={totalBytes === 0 ? null : bytes / totalBytes}
            warnAbove={1}
            text={formatBytes(bytes)}
          />
        ))}
      </div>
    </Card>
  );
}
