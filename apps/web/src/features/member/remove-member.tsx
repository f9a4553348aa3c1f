'use client';
// Confirms the removal of a member and lists what ends with it. Needs no typed name, because an invitation undoes it.
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useMe } from '../../common/organization/me.tsx';
import type { Member } from './member-rows.tsx';

export function RemoveMember({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) {
  const { organization } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const remove = useMutation(trpc.member.delete.mutationOptions());
  const confirm = () =>
    remove.mutate(
      { memberId: member.id },
      {
        onSuccess: () => {
          toast({ title: `${member.name} is no longer a member` });
          void queryClient.invalidateQueries(trpc.member.pathFilter());
          void queryClient.invalidateQueries(trpc.invitation.pathFilter());
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title={`Remove ${member.name}`}
      action={`Remove ${member.name}`}
      pending={remove.isPending}
      error={remove.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        <span className="font-medium text-ink">{member.email}</span> loses access to {organization.name} immediately:
      </p>
      <ul className="list-disc space-y-1 pl-5">
        <li>their role and every role they hold in a project or an environment</li>
        <li>open live pages, within 15 seconds</li>
        <li>pending invitations that they sent</li>
      </ul>
      <p>Their account and everything they created stay. Invite them again to restore access.</p>
    </ConfirmDialog>
  );
}
