'use client';
// Note on saved settings that are not live yet: their live and saved values, and the button that deploys them.
import { Button } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { StateMark } from '@fairlead/ui/state-pill';
import { useMutation } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Config } from '../../api/types.ts';
import { useGuardedPush } from '../../common/form/unsaved-changes.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { FoldedChanges } from './change-rows.tsx';
import { notLiveLines } from './changes.ts';

const NAMED = 6;

interface NotDeployedProps {
  readonly app: AppDetail;
  readonly config: Config;
}

export function NotDeployed({ app, config: { live, settings } }: NotDeployedProps) {
  const formats = useFormats();
  const lines = notLiveLines(live?.settings ?? null, settings, formats);
  if (lines.length === 0) return null;
  const labels = lines.map(({ label }) => label);
  return (
    <section
      aria-label="Settings that are not live"
      className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-card bg-warn-wash px-4 py-3"
    >
      <div className="flex min-w-0 flex-1 basis-64 items-baseline gap-2.5">
        <StateMark tone="warn" />
        <p className="min-w-0 text-pretty">
          {formats.plural(lines.length, 'setting is', 'settings are')} not live yet:{' '}
          <span className="wrap-anywhere font-medium">{labels.slice(0, NAMED).join(', ')}</span>
          {labels.length > NAMED ? ` and ${labels.length - NAMED} more` : ''}.
        </p>
      </div>
      <DeployChanges app={app} liveDeploymentId={live?.deploymentId ?? null} />
      <FoldedChanges summary="Show live and saved values" rows={lines} />
    </section>
  );
}

interface DeployChangesProps {
  readonly app: AppDetail;
  readonly liveDeploymentId: NonNullable<Config['live']>['deploymentId'];
}

/** Builds the live commit again, so that nothing but the settings changes. */
function DeployChanges({ app, liveDeploymentId }: DeployChangesProps) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const push = useGuardedPush();
  const redeploy = useAction(
    useMutation(trpc.deployment.redeploy.mutationOptions()),
    "The settings weren't deployed",
    ({ deploymentId }) => push(paths.deployment(deploymentId)),
  );
  if (liveDeploymentId === null || !can('deployment.write', app)) return null;
  return (
    <Button pending={redeploy.pending} onClick={() => redeploy.run({ deploymentId: liveDeploymentId })}>
      Deploy changes
    </Button>
  );
}
