'use client';
// Apps of a drained server, each with the reason why it stays and what to do, or apps that it builds.
import type { ServerDrain } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

type StayReason = NonNullable<ServerDrain['apps'][number]['stays']>;

const advice: Readonly<Record<StayReason, string>> = {
  only_here: 'It runs only here. Move it to another server.',
  not_live_elsewhere: 'It has another server, but is not live there yet. Deploy it.',
  offline_elsewhere: 'Its other servers are offline. Wait until one is connected.',
  under_way: 'A deployment is under way. Drain again when it has ended.',
  volumes: 'It has volumes. Their data can’t move to another server yet.',
};

/** Without `stays`: the server only builds it. */
type ListedApp = ServerDrain['builds'][number] & Partial<Pick<ServerDrain['apps'][number], 'stays'>>;

export function DrainedApps({ apps }: { readonly apps: readonly ListedApp[] }) {
  const { paths } = useMe();
  return (
    <ul className="flex flex-col gap-1.5">
      {apps.map(({ appId, environmentId, slug, name, environmentName, stays }) => (
        <li key={`${appId} ${environmentId}`} className="min-w-0 break-words">
          <HoverLink href={paths.app(slug, environmentId)} className="rounded-mark text-ink underline">
            {name}
          </HoverLink>{' '}
          <span className="text-sm">· {environmentName}</span>
          {stays == null ? null : <span className="block text-sm">{advice[stays]}</span>}
        </li>
      ))}
    </ul>
  );
}
