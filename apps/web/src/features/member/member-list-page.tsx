'use client';
// Who belongs to the organization, and as what.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Badge } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { HoverLink } from '../../common/hover-link.tsx';
import { useMe } from '../../common/me.tsx';
import { Page } from '../../common/page.tsx';
import { QueryView } from '../../common/query-view.tsx';
import { roleLabel } from '../../common/role-words.ts';

export function MemberListPage() {
  const { user, can, paths } = useMe();
  const trpc = useTRPC();
  const members = useQuery(trpc.member.list.queryOptions());
  const custom = useQuery({ ...trpc.role.list.queryOptions(), enabled: can('role.read') }).data?.custom ?? [];
  return (
    <Page>
      <PageHeader
        title="Members"
        actions={
          can('role.read') ? (
            <HoverLink href={paths.roles} className={buttonClass()}>
              Roles
            </HoverLink>
          ) : null
        }
      />
      <Card>
        <QueryView query={members} skeleton={<SkeletonRows rows={3} />}>
          {({ items }) => (
            <Table>
              <TableHead>
                <HeadCell>Name</HeadCell>
                <HeadCell>Role</HeadCell>
                <HeadCell numeric className="max-sm:hidden">
                  Joined
                </HeadCell>
              </TableHead>
              <tbody>
                {items.map((member) => (
                  <tr key={member.id} className="border-line border-b last:border-b-0">
                    <Cell className="w-full max-w-0">
                      <span className="flex items-center gap-2">
                        <span className="truncate font-medium">{member.name}</span>
                        {member.userId === user.id ? <Badge>You</Badge> : null}
                      </span>
                      <span className="block truncate text-sm text-ink-faint">{member.email}</span>
                    </Cell>
                    <Cell className="whitespace-nowrap">
                      {roleLabel(member.role, custom).label}
                      <span className="block text-sm text-ink-faint max-sm:hidden">
                        {roleLabel(member.role, custom).may}
                      </span>
                    </Cell>
                    <Cell numeric className="max-sm:hidden">
                      <RelativeTime at={member.createdAt} className="font-sans text-ink-soft" />
                    </Cell>
                  </tr>
                ))}
              </tbody>
            </Table>
          )}
        </QueryView>
      </Card>
    </Page>
  );
}
