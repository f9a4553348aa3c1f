'use client';
// Confirms the removal of a key or password, which can only be replaced by a new one.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Credential } from '../../api/types.ts';

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
    <Dialog
      open
      onClose={onClose}
      title={`Remove the ${title.toLowerCase()}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" pending={remove.isPending} onClick={confirm}>
            Remove
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">
        The next deployment reads the source without it. Running instances are not affected. This can't be undone; enter
        it again to restore access.
      </p>
      {remove.error === null ? null : <ErrorNote className="mt-4">{readFailure(remove.error).message}</ErrorNote>}
    </Dialog>
  );
}
