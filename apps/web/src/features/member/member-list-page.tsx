'use client';
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
// Lists the members of the organization with their roles, and pending invitations.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { MemberRows } from './member-rows.tsx';
import { PendingInvitations } from './pending-invitations.tsx';

export function MemberListPage() {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const members = useQuery(trpc.member.list.queryOptions());
  const [inviting, setInviting] = useState(false);
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          title="Members"
          actions={
            <>
              {can('role.read') ? (
                <HoverLink href={paths.roles} className={buttonClass()}>
                  Roles
                </HoverLink>
              ) : null}
              {can('member.invite') ? (
                <Button
                  variant="accent"
                  icon={<UserPlus size={15} aria-hidden="true" />}
                  onClick={() => setInviting(true)}
                >
                  Invite
                </Button>
              ) : null}
            </>
          }
        />
        <div className="flex flex-col gap-6">
          <Card>
            <QueryView query={members} skeleton={<SkeletonRows rows={3} />}>
              {({ items }) => <MemberRows members={items} />}
            </QueryView>
          </Card>
          {can('member.invite') ? <PendingInvitations onInvite={() => setInviting(true)} /> : null}
        </div>
        {can('member.invite') ? <InviteDialog open={inviting} onClose={() => setInviting(false)} /> : null}
      </Page>
    </OrganizationLive>
  );
}
