'use client';
// Volumes of an app: those of the current environment, then those it left behind in others.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { UnusedVolumesCard } from './unused-volumes-card.tsx';
import { VolumeRow } from './volume-row.tsx';

export function VolumesCard({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const { environmentId } = app;
  const volumes = useQuery(trpc.volume.list.queryOptions({ appId: app.id, environmentId })).data?.items ?? [];
  return (
    <>
      {/* Without volumes, the form above explains what a volume is. */}
      {volumes.length === 0 ? null : (
        <Card>
          <CardHeader title="Volume usage" detail="Kept when a release, app or server is deleted" />
          <ul>
            {volumes.map((volume) => (
              <VolumeRow key={volume.id} volume={volume} />
            ))}
          </ul>
        </Card>
      )}
      <UnusedVolumesCard appId={app.id} />
    </>
  );
}
