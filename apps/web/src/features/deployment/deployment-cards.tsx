// Cards of the deployment page: steps, servers, build plan and missing variables.
import { Card, CardHeader } from '@fairlead/ui/card';
import { StateMark } from '@fairlead/ui/state-pill';
import { type Step, Steps } from '@fairlead/ui/steps';
import type { DeploymentDetail } from '../../api/types.ts';
import { LookText } from '../../common/deployment/state-view.tsx';
import { type StateLook, stepTitle } from '../../common/deployment/states.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { TextWithCode } from '../../common/page/text-with-code.tsx';

type Rollout = DeploymentDetail['servers'][number];

const LOOK: Record<Rollout['state'], StateLook> = {
  waiting: { tone: 'idle', shape: 'ring', label: 'Waiting' },
  rolling_out: { tone: 'busy', shape: 'half', label: 'Rolling out' },
  live: { tone: 'ok', shape: 'tick', label: 'Succeeded' },
  failed: { tone: 'bad', shape: 'cross', label: 'Failed' },
  cancelled: { tone: 'idle', shape: 'dash', label: 'Cancelled' },
  reverting: { tone: 'busy', shape: 'half', label: 'Rolling back' },
  reverted: { tone: 'warn', shape: 'dash', label: 'Rolled back' },
};

/** Maximum number of missing names in the note; the page of variables lists them all. */
const NAMED = 8;

export function DeploymentSteps({ deployment }: { readonly deployment: DeploymentDetail }) {
  // A first deployment has no old release to drain.
  const shown = deployment.steps.filter(({ name }) => name !== 'drain' || deployment.hadLiveRelease);
  const steps = shown.map(
    (step): Step => ({
      id: step.name,
      title: stepTitle[step.name],
      state: step.state,
      startedAt: step.startedAt,
      finishedAt: step.finishedAt,
    }),
  );
  return <Steps label="Steps" steps={steps} />;
}

/** Hidden for a single server that did not fail, because the steps show the same. */
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
                <TextWithCode text={server.failureMessage} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Lists names that the code reads but the release was not given: a common reason for a failed start. */
export function MissingNote({ deployment }: { readonly deployment: DeploymentDetail }) {
  const { paths } = useMe();
  const { missingNames, appSlug, environmentId } = deployment;
  if (missingNames.length === 0) return null;
  return (
    <section aria-label="Missing variables" className="mb-6 flex gap-3 rounded-card bg-warn-wash px-4 py-3">
      <span className="mt-1">
        <StateMark tone="warn" />
      </span>
      <p className="min-w-0 text-pretty">
        Expected by the repository's .env.example and not set:{' '}
        <code className="wrap-anywhere font-mono text-sm">{missingNames.slice(0, NAMED).join(', ')}</code>
        {missingNames.length > NAMED ? ` and ${missingNames.length - NAMED} more` : ''}.{' '}
        <HoverLink
          href={paths.appVariables(appSlug, environmentId)}
          className="rounded-mark text-ink-soft underline hover:text-ink"
        >
          Set values
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
        detail="Detected settings"
        action={
          can('app.write', { projectId, environmentId }) ? (
            <HoverLink
              href={paths.appSettingsIn('source')(appSlug, environmentId)}
              className="rounded-mark text-ink-soft text-sm hover:text-ink"
            >
              Change
            </HoverLink>
          ) : null
        }
      />
      <ol className="flex flex-col gap-1.5 border-line border-t px-4 py-3">
        {plan.map((sentence) => (
          <li key={sentence} className="wrap-anywhere text-pretty text-ink-soft text-sm">
            <TextWithCode text={sentence} />
          </li>
        ))}
      </ol>
    </Card>
  );
}
