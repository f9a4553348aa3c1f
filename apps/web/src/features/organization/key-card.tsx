'use client';
// Encryption key of the organization's secrets and its rotation, which running apps do not notice.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { useToast } from '@fairlead/ui/toast';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { Setting } from '../../common/form/setting.tsx';

export function KeyCard() {
  const [open, setOpen] = useState(false);
  return (
    <Card id="encryption" className="scroll-mt-4">
      <CardHeader title="Encryption" />
      <Setting
        title="Data key"
        detail="Encrypts every secret of the organization, and is itself encrypted by the control plane's master key."
      >
        <Button onClick={() => setOpen(true)}>Rotate key</Button>
      </Setting>
      {open ? <RotateKeyDialog onClose={() => setOpen(false)} /> : null}
    </Card>
  );
}

function RotateKeyDialog({ onClose }: { readonly onClose: () => void }) {
  const toast = useToast();
  const rotate = useMutation(useTRPC().secret.rotateKey.mutationOptions());
  const confirm = () =>
    rotate.mutate(undefined, {
      onSuccess: () => {
        toast({ title: 'Data key rotated', detail: 'Older values are re-encrypted in the background.' });
        onClose();
      },
    });
  return (
    <ConfirmDialog
      title="Rotate data key"
      action="Rotate key"
      variant="accent"
      pending={rotate.isPending}
      error={rotate.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        New values are encrypted with a new key immediately, older ones within minutes; then the old key is deleted.
        Apps keep running, and nothing is deployed. Earlier backups still open with the master key.
      </p>
    </ConfirmDialog>
  );
}
