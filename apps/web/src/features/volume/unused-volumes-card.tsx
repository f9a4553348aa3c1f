'use client';
// Volumes without a placement: the app left the environment, or one of both was deleted. Needs organization-wide
// permission, because no environment is left for a narrower one.
import { Card, CardHeader } from '@fairlead/ui/card';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { VolumeRow } from './volume-row.tsx';

/** Without an app, lists the volumes of all apps, deleted ones included. */
export function UnusedVolumesCard({ appId }: { readonly appId?: AppDetail['id'] }) {
  const { can } = useMe();
  const all = useQuery({ ...useTRPC().volume.list.queryOptions({}), enabled: can('app.read', {}) }).data?.items ?? [];
  const left = all.filter((volume) => volume.isLeft && (appId === undefined || volume.appId === appId));
  if (left.length === 0) return null;
  return (
    <Card>
      <CardHeader title="Unused volumes" detail="Their app no longer runs there; they stay until you delete them" />
      <ul>
        {left.map((volume) => (
          <VolumeRow key={volume.id} volume={volume} label={volume.label} />
        ))}
      </ul>
    </Card>
  );
}
