'use client';
// Roles of the organization: names, and which ones the reader may assign. The API decides; this only hides choices that
// it would refuse.
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { roleLabel } from '../../common/organization/role-labels.ts';

export type MemberRole = ReturnType<typeof useMe>['organization']['role'];

export interface RoleChoice {
  readonly role: MemberRole;
  readonly label: string;
  readonly summary: string | null;
}

export interface Roles {
  readonly labelOf: (role: MemberRole) => { readonly label: string; readonly summary: string | null };
  readonly assignableRoles: readonly RoleChoice[];
}

export function useRoles(): Roles {
  const { can, organization } = useMe();
  const trpc = useTRPC();
  const roles = useQuery({ ...trpc.role.list.queryOptions(), enabled: can('role.read') }).data;
  const labelOf = (role: MemberRole) => roleLabel(role, roles?.custom ?? []);
  const all = [
    ...(roles?.builtIn.map(({ role, permissions }) => ({ role: role as MemberRole, permissions })) ?? []),
    ...(roles?.custom.map(({ id, permissions }) => ({ role: id as MemberRole, permissions })) ?? []),
  ];
  const assignableRoles = all
    .filter(
      ({ role, permissions }) =>
        (role !== 'owner' || organization.role === 'owner') && permissions.every((each) => can(each)),
    )
    .map(({ role }) => ({ role, ...labelOf(role) }));
  return { labelOf, assignableRoles };
}
