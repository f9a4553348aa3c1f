'use client';
// Confirmation of an update: says what happens before it starts.
import { useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';

export interface UpdateDialogProps {
  readonly version: string;
  readonly current: string;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function UpdateDialog({ version, current, open, onClose }: UpdateDialogProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const start = useFreshMutation(trpc.controlPlane.startUpdate.mutationOptions());
  const onSuccess = () => {
    void queryClient.invalidateQueries(trpc.controlPlane.pathFilter());
    onClose();
  };
  return (
    <ConfirmDialog
      open={open}
      title={`Update to ${version}`}
      action="Update"
      variant="accent"
      pending={start.isPending}
      error={wasCancelled(start.error) ? null : start.error}
      onConfirm={() => start.mutate({ version }, { onSuccess })}
      onClose={onClose}
    >
      <ol className="flex list-decimal flex-col gap-2 pl-5 text-pretty">
        <li>The server downloads version {version} and verifies its signature.</li>
        <li>It copies the database and the keys, and stops the control plane.</li>
        <li>It starts version {version}, which migrates the database.</li>
        <li>
          It checks the dashboard and the gateway. If the check fails, {current} comes back with the copied database.
        </li>
      </ol>
      <p className="text-pretty">
        The dashboard is down for some seconds. Apps keep running and no request to them is lost. Builds that run now
        are repeated.
      </p>
    </ConfirmDialog>
  );
}
