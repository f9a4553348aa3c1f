'use client';
// Confirms the deletion of a secret and lists what is deleted with it.
import { useToast } from '@fairlead/ui/toast';
import { useMutation } from '@tanstack/react-query';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { SecretView } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useRefetchVariables } from './use-variable-calls.ts';

export function DeleteSecretDialog({ secret, onClose }: { readonly secret: SecretView; readonly onClose: () => void }) {
  const toast = useToast();
  const refetch = useRefetchVariables();
  const trpc = useTRPC();
  const remove = useMutation(trpc.secret.delete.mutationOptions());
  const restore = useMutation(trpc.secret.restore.mutationOptions());
  // The dialog is closed by then, so the promise reports the outcome.
  const undo = () =>
    void restore
      .mutateAsync({ secretId: secret.id, number: secret.number })
      .then(refetch, (error: unknown) =>
        toast({ tone: 'bad', title: `${secret.name} wasn't restored`, detail: readFailure(error).message }),
      );
  const confirm = () =>
    remove.mutate(
      { secretId: secret.id },
      {
        onSuccess: () => {
          toast({
            title: `${secret.name} is deleted`,
            action: { label: 'Undo', onSelect: undo },
          });
          refetch();
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title={`Delete ${secret.name}`}
      action="Delete"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        Its value and {secret.number === 1 ? 'its history' : `all ${secret.number} versions`} are removed. Running
        instances keep the value until the next deployment; values that refer to it stop resolving.
      </p>
    </ConfirmDialog>
  );
}
