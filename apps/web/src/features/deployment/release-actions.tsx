'use client';
// Actions with the release of a deployment: roll back to it, compare it with the live one, promote it.
import { Button, IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { useMutation } from '@tanstack/react-query';
import { Ellipsis, GitCompareArrows, MoveUpRight, Undo2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, DeploymentSummary, Release } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';

export interface ReleaseActionsProps {
  readonly app: AppDetail;
  /** Deployment by whose number people know the release. */
  readonly number: DeploymentSummary['number'];
  readonly release: Release;
  readonly canRollBack: boolean;
  /** Null if there is nothing to compare it with. */
  readonly onCompare: (() => void) | null;
}

export function ReleaseActions({ app, number, release, canRollBack, onCompare }: ReleaseActionsProps) {
  const { can, paths } = useMe();
  const router = useRouter();
  const rollback = useRollback();
  const promote = useAction(
    useMutation(useTRPC().deployment.promote.mutationOptions()),
    "The release wasn't promoted",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  const { environmentId } = app;
  const mayRollBack = canRollBack && can('deployment.write', { projectId: app.projectId, environmentId });
  const targets = release.isKept
    ? app.placements.filter(
        (placement) =>
          placement.environmentId !== environmentId &&
          can('deployment.write', { projectId: app.projectId, environmentId: placement.environmentId }),
      )
    : [];
  const run = () => rollback.run({ appId: app.id, environmentId, releaseId: release.id });
  if (!mayRollBack && onCompare === null && targets.length === 0) return null;
  return (
    <span className="inline-flex items-center justify-end gap-1">
      {mayRollBack ? (
        <Button
          size="small"
          className="max-md:hidden"
          icon={<Undo2 size={14} aria-hidden="true" />}
          pending={rollback.pending}
          aria-label={`Roll back to #${number}`}
          title={ROLLBACK}
          onClick={run}
        >
          Roll back
        </Button>
      ) : null}
      <Menu
        label={`More for #${number}`}
        trigger={(trigger) => (
          <IconButton {...trigger} label={`More for #${number}`} size="small">
            <Ellipsis size={16} aria-hidden="true" />
          </IconButton>
        )}
      >
        {mayRollBack ? (
          <MenuItem icon={<Undo2 size={15} />} disabled={rollback.pending} onSelect={run}>
            Roll back to #{number}
          </MenuItem>
        ) : null}
        {onCompare === null ? null : (
          <MenuItem icon={<GitCompareArrows size={15} />} onSelect={onCompare}>
            Compare with live release
          </MenuItem>
        )}
        {targets.map((target) => (
          <MenuItem
            key={target.environmentId}
            icon={<MoveUpRight size={15} />}
            disabled={promote.pending}
            onSelect={() => promote.run({ environmentId: target.environmentId, releaseId: release.id })}
          >
            Promote to {target.environmentName}
          </MenuItem>
        ))}
      </Menu>
    </span>
  );
}

/** Main action of the comparison. */
export function RollbackButton({ app, number, release }: Pick<ReleaseActionsProps, 'app' | 'number' | 'release'>) {
  const { can } = useMe();
  const rollback = useRollback();
  const { environmentId } = app;
  if (!can('deployment.write', { projectId: app.projectId, environmentId })) return null;
  return (
    <Button
      variant="accent"
      icon={<Undo2 size={14} aria-hidden="true" />}
      pending={rollback.pending}
      title={ROLLBACK}
      onClick={() => rollback.run({ appId: app.id, environmentId, releaseId: release.id })}
    >
      Roll back to #{number}
    </Button>
  );
}

const ROLLBACK = 'Uses the settings and secrets it ran with. Nothing is built.';

function useRollback() {
  const { paths } = useMe();
  const router = useRouter();
  return useAction(
    useFreshMutation(useTRPC().deployment.rollback.mutationOptions()),
    "The rollback wasn't started",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
}
