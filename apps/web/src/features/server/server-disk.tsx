'use client';
// Disk usage of a server: the agent's files by kind, everything else, and the forecast of when the disk is full.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Meter } from '@fairlead/ui/meter';
import { RelativeTime } from '@fairlead/ui/relative-time';
import type { ServerDetail } from '../../api/types.ts';
import type { Disk } from '../../common/figure/figures.ts';

export interface ServerDiskProps {
  readonly disk: Disk;
  /** The agent's own files, as it measured them last. */
  readonly usage: NonNullable<ServerDetail['disk']>;
}

export function ServerDisk({ disk, usage }: ServerDiskProps) {
  const { formatBytes } = useFormats();
  const { totalBytes, freeBytes, usedBytes } = disk;
  const { fullUnixMs } = usage;
  const kinds = [
    { label: 'Artifacts', bytes: usage.artifactsBytes },
    { label: 'Build caches', bytes: usage.cachesBytes },
    { label: 'Images', bytes: usage.imagesBytes },
    { label: 'App logs', bytes: usage.logsBytes },
    { label: 'Volumes', bytes: usage.volumesBytes },
  ];
  const own = kinds.reduce((total, { bytes }) => total + bytes, 0);
  const rows = [...kinds, { label: 'Other', bytes: Math.max(0, usedBytes - own) }];
  return (
    <Card>
      <CardHeader
        title="Disk"
        detail={
          <>
            {formatBytes(usedBytes)} used, {formatBytes(freeBytes)} free of {formatBytes(totalBytes)}
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
