'use client';
// Table of members with the actions that the reader may take.
import { IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Badge } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useToast } from '@fairlead/ui/toast';
import { useQueryClient } from '@tanstack/react-query';
import { Ellipsis, UserMinus } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { RemoveMember } from './remove-member.tsx';
import { type MemberRole, type Roles, useRoles } from './use-roles.ts';

export type Member = Outputs['member']['list']['items'][number];

export function MemberRows({ members }: { readonly members: readonly Member[] }) {
  const { user, can } = useMe();
  const roles = useRoles();
  const [removing, setRemoving] = useState<Member | null>(null);
  return (
    <>
      <Table>
        <TableHead>
          <HeadCell>Name</HeadCell>
          <HeadCell>Role</HeadCell>
          <HeadCell numeric className="max-sm:hidden">
            Joined
          </HeadCell>
          {can('member.write') ? (
            <HeadCell>
              <span className="sr-only">Change</span>
            </HeadCell>
          ) : null}
        </TableHead>
        <tbody>
          {members.map((member) => (
            <tr key={member.id} className="border-line border-b last:border-b-0">
              <Cell className="w-full max-w-0">
                <span className="flex items-center gap-2">
                  <span className="truncate font-medium">{member.name}</span>
                  {member.userId === user.id ? <Badge>You</Badge> : null}
                </span>
                <span className="block truncate text-sm text-ink-faint">{member.email}</span>
              </Cell>
              <Cell className="whitespace-nowrap">
                {roles.labelOf(member.role).label}
                <span className="block text-sm text-ink-faint max-md:hidden">{roles.labelOf(member.role).summary}</span>
              </Cell>
              <Cell numeric className="max-sm:hidden">
                <RelativeTime at={member.createdAt} className="font-sans text-ink-soft" />
              </Cell>
              {can('member.write') ? (
                <Cell>
                  <MemberMenu member={member} roles={roles} onRemove={() => setRemoving(member)} />
                </Cell>
              ) : null}
            </tr>
          ))}
        </tbody>
      </Table>
      {removing === null ? null : <RemoveMember member={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

interface MemberMenuProps {
  readonly member: Member;
  readonly roles: Roles;
  readonly onRemove: () => void;
}

function MemberMenu({ member, roles, onRemove }: MemberMenuProps) {
  const { user, organization } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const before = member.role;
  const change = useAction(useFreshMutation(trpc.member.update.mutationOptions()), "The role wasn't changed", () =>
    queryClient.invalidateQueries(trpc.member.pathFilter()),
  );
  const give = (role: MemberRole) => {
    change.run({ memberId: member.id, role });
    toast({
      title: `${member.name} becomes ${roles.labelOf(role).label}`,
      action: { label: 'Undo', onSelect: () => change.run({ memberId: member.id, role: before }) },
    });
  };
  const isSelf = member.userId === user.id;
  // This menu changes neither the reader's own role nor, for a reader who is no owner, an owner's role.
  if (isSelf || (member.role === 'owner' && organization.role !== 'owner')) return null;
  return (
    <Menu
      label={`Change ${member.name}`}
      trigger={(trigger) => (
        <IconButton {...trigger} label={`Change ${member.name}`} disabled={change.pending}>
          <Ellipsis size={16} aria-hidden="true" />
        </IconButton>
      )}
    >
      <MenuLabel>Role</MenuLabel>
      {roles.assignableRoles.map(({ role, label }) => (
        <MenuItem
          key={role}
          checked={role === member.role}
          onSelect={() => (role === member.role ? undefined : give(role))}
        >
          {label}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem danger icon={<UserMinus size={15} />} onSelect={onRemove}>
        Remove {member.name}
      </MenuItem>
    </Menu>
  );
}
