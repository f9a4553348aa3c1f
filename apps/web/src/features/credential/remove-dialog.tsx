'use client';
// Asks before a key or password goes: it cannot be brought back, only made anew.
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
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" pending={remove.isPending} onClick={confirm}>
            Remove it
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">
        The next deployment reads the source without it. What runs goes on running. It can't be brought back, only set
        anew.
      </p>
      {remove.error === null ? null : <ErrorNote className="mt-4">{readFailure(remove.error).message}</ErrorNote>}
    </Dialog>
  );
}
