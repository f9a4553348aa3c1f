'use client';
// Additional roles of members by scope; grants and revokes them.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { roleLabel } from '../../common/organization/role-labels.ts';
import { QueryView } from '../../common/page/query-view.tsx';
import { GrantDialog } from './grant-dialog.tsx';
import type { Roles } from './role-matrix.tsx';

type Grant = Outputs['grant']['list']['items'][number];

export function GrantList({ roles }: { readonly roles: Roles }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const grants = useQuery(trpc.grant.list.queryOptions({}));
  const members = useQuery(trpc.member.list.queryOptions()).data?.items ?? [];
  const [granting, setGranting] = useState(false);
  const queryClient = useQueryClient();
  const refresh = () =>
    void Promise.all([trpc.grant, trpc.role].map((each) => queryClient.invalidateQueries(each.pathFilter())));
  // The list restores a grant, because the row of a revoked grant is gone by then.
  const restore = useAction(
    useFreshMutation(trpc.grant.create.mutationOptions()),
    "The grant wasn't restored",
    refresh,
  );
  const nameOf = (memberId: string) => members.find(({ id }) => id === memberId)?.name ?? 'A member';
  return (
    <Card>
      <CardHeader
        title="Additional grants"
        detail="In the organization, a project or an environment"
        action={
          can('member.write') ? (
            <Button size="small" onClick={() => setGranting(true)}>
              Grant role
            </Button>
          ) : null
        }
      />
      <QueryView query={grants} skeleton={<SkeletonRows rows={2} />}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="border-line border-t px-4 py-4 text-pretty text-ink-faint">
              No additional grants. Grant a role in a project or environment to give a member more rights there only.
            </p>
          ) : (
            <Table>
              <TableHead>
                <HeadCell>Member</HeadCell>
                <HeadCell>Role</HeadCell>
                <HeadCell>Scope</HeadCell>
                <HeadCell />
              </TableHead>
              <tbody>
                {items.map((grant) => (
                  <tr key={grant.id} className="border-line border-b last:border-b-0">
                    <Cell className="font-medium">{nameOf(grant.memberId)}</Cell>
                    <Cell>{roleLabel(grant.role, roles.custom).label}</Cell>
                    <Cell>{grant.scopeName ?? 'The organization'}</Cell>
                    <Cell className="text-right">
                      {can('member.write') ? (
                        <RevokeGrant
                          grant={grant}
                          what={`${roleLabel(grant.role, roles.custom).label} of ${nameOf(grant.memberId)}`}
                          onRevoked={refresh}
                          onRestore={({ memberId, role, scope }) =>
                            restore.run({ memberId, role: role as never, scope })
                          }
                        />
                      ) : null}
                    </Cell>
                  </tr>
                ))}
              </tbody>
            </Table>
          )
        }
      </QueryView>
      <GrantDialog open={granting} onClose={() => setGranting(false)} roles={roles} members={members} />
    </Card>
  );
}

interface RevokeGrantProps {
  readonly grant: Grant;
  readonly what: string;
  readonly onRevoked: () => void;
  readonly onRestore: (grant: Grant) => void;
}

/** Revokes at once with an undo, because the grant can be given again. */
function RevokeGrant({ grant, what, onRevoked, onRestore }: RevokeGrantProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const revoke = useAction(useMutation(trpc.grant.delete.mutationOptions()), "The grant wasn't revoked", () => {
    onRevoked();
    toast({ title: `Revoked: ${what}`, action: { label: 'Undo', onSelect: () => onRestore(grant) } });
  });
  return (
    <Button size="small" variant="ghost" pending={revoke.pending} onClick={() => revoke.run({ grantId: grant.id })}>
      Revoke
      <span className="sr-only"> {what}</span>
    </Button>
  );
}
