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
  under_way: 'A deployment is running. Choose “Drain again” when it has ended.',
  volumes: 'It has volumes. Choose “Move apps” to copy them to another server.',
};

/** Without `stays`: the server only builds it. */
type ListedApp = ServerDrain['builds'][number] & Partial<Pick<ServerDrain['apps'][number], 'stays' | 'move'>>;

export function DrainedApps({ apps }: { readonly apps: readonly ListedApp[] }) {
  const { paths } = useMe();
  return (
    <ul className="flex flex-col gap-1.5">
      {apps.map(({ appId, environmentId, slug, name, environmentName, stays, move }) => (
        <li key={`${appId} ${environmentId}`} className="min-w-0 break-words">
          <HoverLink href={paths.app(slug, environmentId)} className="rounded-mark text-ink underline">
            {name}
          </HoverLink>{' '}
          <span className="text-sm">· {environmentName}</span>
          {move != null ? (
            <span className="block text-sm">It moves to another server with its volumes.</span>
          ) : stays == null ? null : (
            <span className="block text-sm">{advice[stays]}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
