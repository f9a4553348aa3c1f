'use client';
// Menu of an app's row: the actions of its pages.
import { MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { useMutation } from '@tanstack/react-query';
import { ExternalLink, FileText, History, Play, RotateCcw, RotateCw, Settings, SquareStack, Undo2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary } from '../../api/types.ts';
import { isInProgress } from '../../common/deployment/states.ts';
import { useAction } from '../../common/form/use-action.ts';
import { RowMenuCell } from '../../common/list/row-menu.tsx';
import { useMe } from '../../common/organization/me.tsx';

export type AppCalls = ReturnType<typeof useAppRowCalls>;

/** Calls of all rows of a list. Each opens the page of the deployment that it starts. */
export function useAppRowCalls() {
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const open = ({ deploymentId }: { readonly deploymentId: string }) => router.push(paths.deployment(deploymentId));
  const deploy = useAction(useMutation(trpc.deployment.create.mutationOptions()), "The app wasn't deployed", open);
  const redeploy = useAction(
    useMutation(trpc.deployment.redeploy.mutationOptions()),
    "The deployment wasn't started",
    open,
  );
  const restart = useAction(useMutation(trpc.deployment.restart.mutationOptions()), "The app wasn't restarted", open);
  return { deploy: deploy.run, redeploy: redeploy.run, restart: restart.run };
}

export interface AppRowMenuProps {
  readonly app: AppSummary;
  readonly calls: AppCalls;
}

export function AppRowMenu({ app, calls }: AppRowMenuProps) {
  const { paths, can } = useMe();
  const router = useRouter();
  const { url, slug, lastDeployment, liveRelease } = app;
  const environmentId = app.isPrimary ? undefined : app.environmentId;
  const placement = { appId: app.id, environmentId: app.environmentId };
  const mayWrite = can('deployment.write', app);
  return (
    <RowMenuCell name={app.name}>
      <MenuItem icon={<SquareStack size={15} />} onSelect={() => router.push(paths.app(slug, environmentId))}>
        Open
      </MenuItem>
      {url === null ? null : (
        <MenuItem icon={<ExternalLink size={15} />} onSelect={() => window.open(url, '_blank', 'noreferrer')}>
          Visit
        </MenuItem>
      )}
      {can('log.read', app) ? (
        <MenuItem icon={<FileText size={15} />} onSelect={() => router.push(paths.appLogs(slug, environmentId))}>
          Logs
        </MenuItem>
      ) : null}
      <MenuItem icon={<History size={15} />} onSelect={() => router.push(paths.appDeployments(slug, environmentId))}>
        Deployments
      </MenuItem>
      {mayWrite ? <MenuSeparator /> : null}
      {mayWrite && app.repositoryUrl !== '' ? (
        <MenuItem icon={<Play size={15} />} onSelect={() => calls.deploy(placement)}>
          Deploy
        </MenuItem>
      ) : null}
      {mayWrite && lastDeployment !== null && !isInProgress(lastDeployment.state) ? (
        <MenuItem icon={<RotateCcw size={15} />} onSelect={() => calls.redeploy({ deploymentId: lastDeployment.id })}>
          Redeploy
        </MenuItem>
      ) : null}
      {mayWrite && liveRelease !== null ? (
        <>
          <MenuItem icon={<RotateCw size={15} />} onSelect={() => calls.restart(placement)}>
            Restart
          </MenuItem>
          <MenuItem icon={<Undo2 size={15} />} onSelect={() => router.push(paths.appDeployments(slug, environmentId))}>
            Roll back…
          </MenuItem>
        </>
      ) : null}
      <MenuSeparator />
      <MenuItem icon={<Settings size={15} />} onSelect={() => router.push(paths.appSettings(slug))}>
        Settings
      </MenuItem>
    </RowMenuCell>
  );
}
