'use client';
// Confirms the removal of a key or password, which can only be replaced by a new one.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { Credential } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';

export interface RemoveDialogProps {
  readonly appId: string;
  readonly kind: Credential['kind'];
  readonly title: string;
  readonly onClose: () => void;
}

export function RemoveDialog({ appId, kind, title, onClose }: RemoveDialogProps) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const remove = useMutation(trpc.credential.delete.mutationOptions());
  const confirm = () =>
    remove.mutate(
      { appId, kind },
      {
        onSuccess: () => {
          void queryClient.invalidateQueries(trpc.credential.pathFilter());
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title={`Remove the ${title.toLowerCase()}`}
      action="Remove"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        The next deployment reads the source without it. Running instances are not affected. This can't be undone; enter
        it again to restore access.
      </p>
    </ConfirmDialog>
  );
}
