// What the builder decided, what the release went without, and what became of each server of a roll-out.
import { Card, CardHeader } from '@fairlead/ui/card';
import { StateMark } from '@fairlead/ui/state-pill';
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

/** Of missing names; the page of secrets has them all. */
const NAMED = 8;

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
              <p className="wrap-anywhere mt-0.5 text-pretty text-ink-soft text-sm">
                <Words sentence={server.failureMessage} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Names that the code expects and its release was not given: often the reason why it does not start. */
export function MissingNote({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { paths } = useMe();
  const { missingNames, appSlug } = deployment;
  if (missingNames.length === 0) return null;
  return (
    <section aria-label="Names that are not set" className="mb-6 flex gap-3 rounded-card bg-warn-wash px-4 py-3">
      <span className="mt-1">
        <StateMark tone="warn" />
      </span>
      <p className="min-w-0 text-pretty">
        Expected by the repository's .env.example and not set:{' '}
        <code className="wrap-anywhere font-mono text-sm">{missingNames.slice(0, NAMED).join(', ')}</code>
        {missingNames.length > NAMED ? ` and ${missingNames.length - NAMED} more` : ''}.{' '}
        <HoverLink href={paths.appSecrets(appSlug)} className="rounded-mark text-ink-soft underline hover:text-ink">
          Set them
        </HoverLink>
      </p>
    </section>
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
            <Words sentence={sentence} />
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** A sentence of the agent, which puts what is typed between backticks. */
export function Words({ sentence }: { readonly sentence: string }) {
  return sentence.split('`').map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the same command may be named twice
      <code key={index} className="font-mono">
        {part}
      </code>
    ),
  );
}
