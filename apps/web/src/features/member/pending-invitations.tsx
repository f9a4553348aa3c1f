'use client';
// Pending invitations: role, expiry, and actions to renew or revoke them.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { EmptyState } from '@fairlead/ui/empty-state';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { StateText } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Ellipsis, Mail, RotateCw, X } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { InvitationLink } from './invite-dialog.tsx';
import { useRoles } from './use-roles.ts';

type Invitation = Outputs['invitation']['list']['items'][number];

export function PendingInvitations({ onInvite }: { readonly onInvite: () => void }) {
  const trpc = useTRPC();
  const invitations = useQuery(trpc.invitation.list.queryOptions());
  const [link, setLink] = useState<{ readonly url: string; readonly expiresAt: Date } | null>(null);
  return (
    <Card>
      <CardHeader title="Invitations" detail="Waiting to be accepted" />
      <div className="border-line border-t">
        <QueryView query={invitations} skeleton={<SkeletonRows rows={2} />}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState
                icon={<Mail size={20} />}
                title="No pending invitations"
                action={<Button onClick={onInvite}>Invite member</Button>}
              >
                An invitation gives one person a role, by email or link, and expires after seven days.
              </EmptyState>
            ) : (
              <InvitationRows invitations={items} onLink={setLink} />
            )
          }
        </QueryView>
      </div>
      <Dialog
        open={link !== null}
        onClose={() => setLink(null)}
        title="The new link"
        detail="The previous link no longer works."
      >
        {link === null ? null : <InvitationLink {...link} onClose={() => setLink(null)} />}
      </Dialog>
    </Card>
  );
}

interface InvitationRowsProps {
  readonly invitations: readonly Invitation[];
  readonly onLink: (link: { readonly url: string; readonly expiresAt: Date }) => void;
}

function InvitationRows({ invitations, onLink }: InvitationRowsProps) {
  const { labelOf } = useRoles();
  return (
    <Table>
      <TableHead>
        <HeadCell>For</HeadCell>
        <HeadCell>Role</HeadCell>
        <HeadCell className="max-sm:hidden">State</HeadCell>
        <HeadCell>
          <span className="sr-only">Change</span>
        </HeadCell>
      </TableHead>
      <tbody>
        {invitations.map((invitation) => (
          <tr key={invitation.id} className="border-line border-b last:border-b-0">
            <Cell className="w-full max-w-0">
              <span className="block truncate font-medium">{invitation.email ?? 'Anyone with the link'}</span>
              <span className="block truncate text-sm text-ink-faint">
                {invitation.invitedBy === null ? 'Sent ' : `${invitation.invitedBy}, `}
                <RelativeTime at={invitation.createdAt} />
              </span>
              <span className="mt-0.5 block sm:hidden">
                <InvitationState invitation={invitation} />
              </span>
            </Cell>
            <Cell className="whitespace-nowrap">{labelOf(invitation.role).label}</Cell>
            <Cell className="whitespace-nowrap max-sm:hidden">
              <InvitationState invitation={invitation} />
            </Cell>
            <Cell>
              <InvitationMenu invitation={invitation} onLink={onLink} />
            </Cell>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function InvitationState({ invitation }: { readonly invitation: Invitation }) {
  if (invitation.expired) return <StateText tone="idle">Expired</StateText>;
  if (invitation.mailed === false) return <StateText tone="warn">Not sent</StateText>;
  return (
    <StateText tone="idle" shape="ring">
      <span>
        Expires <RelativeTime at={invitation.expiresAt} />
      </span>
    </StateText>
  );
}

interface InvitationMenuProps {
  readonly invitation: Invitation;
  readonly onLink: InvitationRowsProps['onLink'];
}

function InvitationMenu({ invitation, onLink }: InvitationMenuProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const refetch = () => void queryClient.invalidateQueries(trpc.invitation.pathFilter());
  const name = invitation.email ?? 'the link';
  const rotate = useAction(
    useFreshMutation(trpc.invitation.rotate.mutationOptions()),
    "The invitation wasn't sent",
    (minted) => {
      refetch();
      if (minted.url === null) toast({ title: `Sent to ${name} again` });
      else onLink({ url: minted.url, expiresAt: minted.expiresAt });
    },
  );
  const revoke = useAction(
    useMutation(trpc.invitation.revoke.mutationOptions()),
    "The invitation wasn't revoked",
    () => {
      refetch();
      toast({ title: 'Invitation revoked' });
    },
  );
  return (
    <Menu
      label={`Change the invitation of ${name}`}
      trigger={(trigger) => (
        <IconButton {...trigger} label={`Change the invitation of ${name}`} disabled={rotate.pending || revoke.pending}>
          <Ellipsis size={16} aria-hidden="true" />
        </IconButton>
      )}
    >
      <MenuItem icon={<RotateCw size={15} />} onSelect={() => rotate.run({ invitationId: invitation.id })}>
        {invitation.email === null ? 'Create new link' : 'Send again'}
      </MenuItem>
      <MenuItem danger icon={<X size={15} />} onSelect={() => revoke.run({ invitationId: invitation.id })}>
        Revoke
      </MenuItem>
    </Menu>
  );
}
