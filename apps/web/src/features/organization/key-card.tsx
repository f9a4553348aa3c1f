'use client';
// Encryption key of the organization's secrets and its rotation, which running apps do not notice.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useToast } from '@fairlead/ui/toast';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { Setting } from './setting.tsx';

export function KeyCard() {
  const [asked, setAsked] = useState(false);
  return (
    <Card>
      <CardHeader title="Encryption" />
      <Setting
        title="Data key"
        detail="Encrypts every secret of the organization, and is itself encrypted by the control plane's master key."
      >
        <Button onClick={() => setAsked(true)}>Rotate key</Button>
      </Setting>
      {asked ? <ChangeDialog onClose={() => setAsked(false)} /> : null}
    </Card>
  );
}

function ChangeDialog({ onClose }: { readonly onClose: () => void }) {
  const toast = useToast();
  const rotate = useMutation(useTRPC().secret.rotateKey.mutationOptions());
  const confirm = () =>
    rotate.mutate(undefined, {
      onSuccess: () => {
        toast({ title: 'A new key encrypts', detail: 'Older values are re-encrypted in the background.' });
        onClose();
      },
    });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Rotate data key"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="accent" pending={rotate.isPending} onClick={confirm}>
            Rotate key
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 text-ink-soft">
        <p>
          New values are encrypted with a new key immediately, older ones within minutes; then the old key is deleted.
          Apps keep running, and nothing is deployed. Earlier backups still open with the master key.
        </p>
        {rotate.error === null ? null : <ErrorNote>{readFailure(rotate.error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}
