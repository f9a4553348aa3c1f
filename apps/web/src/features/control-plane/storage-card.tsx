// Storage of the control plane: free space of each disk, and what takes it.
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { Meter } from '@fairlead/ui/meter';
import type { ControlPlaneState } from '../../api/types.ts';

export function StorageCard({ storage }: Pick<ControlPlaneState, 'storage'>) {
  const { formatBytes } = useFormats();
  const { disks, logsBytes, artifactsBytes, databaseBytes } = storage;
  return (
    <Card id="storage" className="scroll-mt-4">
      <CardHeader title="Storage" />
      {disks.map(({ path, freeBytes, totalBytes, reserveBytes }) => (
        <div key={path} className="border-line border-t px-4 py-4">
          <Meter
            label={path}
            share={totalBytes === 0 ? null : 1 - freeBytes / totalBytes}
            warnAbove={1 - reserveBytes / totalBytes}
            text={`${formatBytes(freeBytes)} free`}
          />
          <p className="mt-2 text-ink-faint text-sm">
            {formatBytes(totalBytes)} in total. Uploads and build logs leave {formatBytes(reserveBytes)} free.
          </p>
        </div>
      ))}
      <Facts
        className="border-line border-t px-4 py-4 sm:grid-cols-3"
        items={[
          { term: 'Database', value: formatBytes(databaseBytes) },
          { term: 'Build logs', value: formatBytes(logsBytes) },
          { term: 'Artifacts', value: formatBytes(artifactsBytes) },
        ]}
      />
    </Card>
  );
}
