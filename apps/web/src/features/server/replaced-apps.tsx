'use client';
// Apps of a server that is being replaced, with the hosts of their domains and the progress of each.
import type { ServerDrain } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { VolumeCopies } from './volume-copies.tsx';

type StayReason = NonNullable<ServerDrain['apps'][number]['stays']>;

const progress: Readonly<Record<StayReason, string>> = {
  only_here: 'Moves to the new server.',
  under_way: 'Its deployment is running.',
  not_live_elsewhere: 'It is not live on the new server. Deploy it again, or approve its deployment.',
  offline_elsewhere: 'Its other servers are offline.',
  volumes: 'Moves to the new server.',
};

export function ReplacedApps({ apps }: { readonly apps: ServerDrain['apps'] }) {
  const { paths } = useMe();
  return (
    <ul className="flex flex-col gap-1.5">
      {apps.map(({ appId, environmentId, slug, name, environmentName, hosts, volumes, move, stays }) => (
        <li key={`${appId} ${environmentId}`} className="min-w-0 break-words">
          <HoverLink href={paths.app(slug, environmentId)} className="rounded-mark text-ink underline">
            {name}
          </HoverLink>{' '}
          <span className="text-sm">· {environmentName}</span>
          {hosts.length === 0 ? null : <span className="block font-mono text-xs">{hosts.join(', ')}</span>}
          <span className="block text-sm">
            {move !== null
              ? 'Its volumes are restored on the new server.'
              : stays === null
                ? 'Live on another server.'
                : progress[stays]}
          </span>
          {move === null && stays !== null ? <VolumeCopies volumes={volumes} isOffline /> : null}
        </li>
      ))}
    </ul>
  );
}
