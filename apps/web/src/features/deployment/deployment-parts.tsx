// What the builder decided, and what became of each server of a roll-out.
import { Card, CardHeader } from '@fairlead/ui/card';
import type { DeploymentDetail } from '../../api/types.ts';
import { HoverLink } from '../../common/hover-link.tsx';
import { useMe } from '../../common/me.tsx';
import { LookText } from '../../common/state-view.tsx';
import type { StateLook } from '../../common/states.ts';

type Rollout = DeploymentDetail['servers'][number];

const LOOK: Record<Rollout['state'], StateLook> = {
  waiting: { tone: 'idle', shape: 'ring', label: 'Waiting' },
  rolling_out: { tone: 'busy', shape: 'half', label: 'Rolling out' },
  live: { tone: 'ok', shape: 'tick', label: 'Done' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
  cancelled: { tone: 'idle', shape: 'dash', label: 'Cancelled' },
  reverting: { tone: 'busy', shape: 'half', label: 'Going back' },
  reverted: { tone: 'warn', shape: 'dash', label: 'Went back' },
};

/** Of one server, the steps say it all. */
export function DeploymentServers({ servers }: { readonly servers: readonly Rollout[] }) {
  const { paths } = useMe();
  if (servers.length < 2 && servers.every((server) => server.failureMessage === null)) return null;
  return (
    <Card>
      <CardHeader title="Servers" />
      <ul>
        {servers.map((server) => (
          <li key={server.serverId} className="border-line border-t px-4 py-2.5">
            <div className="flex items-baseline justify-between gap-3">
              {server.serverName === null ? (
                <span className="truncate text-ink-faint">A deleted server</span>
              ) : (
                <HoverLink
                  href={paths.server(server.serverId)}
                  className="min-w-0 truncate rounded-mark hover:underline"
                >
                  {server.serverName}
                </HoverLink>
              )}
              <LookText look={LOOK[server.state]} />
            </div>
            {server.failureMessage === null ? null : (
              <p className="mt-0.5 text-pretty text-ink-soft text-sm">{server.failureMessage}</p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

export function DeploymentPlan({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { can, paths } = useMe();
  const { plan, appSlug, environmentId, projectId } = deployment;
  if (plan.length === 0) return null;
  return (
    <Card>
      <CardHeader
        title="Plan"
        detail="What was detected"
        action={
          can('app.write', { projectId, environmentId }) ? (
            <HoverLink
              href={paths.appConfig(appSlug, environmentId)}
              className="rounded-mark text-ink-soft text-sm hover:text-ink"
            >
              Change it
            </HoverLink>
          ) : null
        }
      />
      <ol className="flex flex-col gap-1.5 border-line border-t px-4 py-3">
        {plan.map((sentence) => (
          <li key={sentence} className="wrap-anywhere text-pretty text-ink-soft text-sm">
            {sentence}
          </li>
        ))}
      </ol>
    </Card>
  );
}
