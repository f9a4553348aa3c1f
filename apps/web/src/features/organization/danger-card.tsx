'use client';
// Transfers, leaves or deletes the organization. Each action lists what is lost first.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { Setting } from '../../common/form/setting.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { TransferDialog } from './transfer-dialog.tsx';

export function DangerCard() {
  const { can, organization } = useMe();
  const [open, setOpen] = useState<'transfer' | 'leave' | 'delete' | null>(null);
  const close = () => setOpen(null);
  return (
    <Card id="danger-zone" className="scroll-mt-4">
      <CardHeader title="Danger zone" />
      {can('organization.transfer') ? (
        <Setting title="Transfer ownership" detail="Another member becomes the owner, and you become an admin.">
          <Button onClick={() => setOpen('transfer')}>Transfer</Button>
        </Setting>
      ) : null}
      <Setting title="Leave" detail="You lose access immediately. You need an invitation to come back.">
        <Button variant="danger-outline" onClick={() => setOpen('leave')}>
          Leave
        </Button>
      </Setting>
      {can('organization.delete') && organization.deleteAt === null ? (
        <Setting
          title="Delete organization"
          detail="After seven days its apps stop and all its data is deleted. You can cancel until then."
        >
          <Button variant="danger-outline" onClick={() => setOpen('delete')}>
            Delete
          </Button>
        </Setting>
      ) : null}
      {open === 'transfer' ? <TransferDialog onClose={close} /> : null}
      {open === 'leave' ? <LeaveDialog onClose={close} /> : null}
      {open === 'delete' ? <DeleteDialog onClose={close} /> : null}
    </Card>
  );
}

function LeaveDialog({ onClose }: { readonly onClose: () => void }) {
  const { organization } = useMe();
  const trpc = useTRPC();
  const leave = useMutation(trpc.organization.leave.mutationOptions());
  return (
    <ConfirmDialog
      title={`Leave ${organization.name}`}
      action={`Leave ${organization.name}`}
      pending={leave.isPending}
      error={leave.error}
      onConfirm={() =>
        leave.mutate({ organizationId: organization.id }, { onSuccess: () => window.location.assign('/') })
      }
      onClose={onClose}
    >
      <p>You lose your role and every role in its projects. Invitations that you sent are revoked.</p>
    </ConfirmDialog>
  );
}

function DeleteDialog({ onClose }: { readonly onClose: () => void }) {
  const { organization } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const remove = useFreshMutation(trpc.organization.delete.mutationOptions());
  return (
    <ConfirmDelete
      open
      onClose={onClose}
      what="organization"
      name={organization.name}
      consequences={
        <p>
          In seven days its apps stop on every server, and its apps, deployments, logs, domains, servers, members and
          audit log are deleted. Until then everything keeps running, and a member who may delete it can cancel the
          deletion.
        </p>
      }
      pending={remove.isPending}
      error={remove.error}
      onConfirm={(confirmName) =>
        remove.mutate(
          { confirmName },
          {
            onSuccess: () => {
              router.refresh();
              onClose();
            },
          },
        )
      }
    />
  );
}
