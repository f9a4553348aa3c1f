'use client';
// Roles page: every role with its permissions, and additional roles of members.
import { Button } from '@fairlead/ui/button';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { GrantList } from './grant-list.tsx';
import { NewRoleDialog } from './new-role-dialog.tsx';
import { RoleMatrix } from './role-matrix.tsx';

export function RolesPage() {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const roles = useQuery(trpc.role.list.queryOptions());
  const [creating, setCreating] = useState(false);
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Members', href: paths.members }]} />}
        title="Roles"
        actions={
          can('role.write') ? (
            <Button variant="accent" icon={<Plus size={15} aria-hidden="true" />} onClick={() => setCreating(true)}>
              New role
            </Button>
          ) : null
        }
      />
      <QueryView query={roles} skeleton={<SkeletonRows rows={12} />}>
        {(list) => (
          <div className="flex flex-col gap-6">
            <RoleMatrix roles={list} />
            <GrantList roles={list} />
            <NewRoleDialog open={creating} onClose={() => setCreating(false)} roles={list} />
          </div>
        )}
      </QueryView>
    </Page>
  );
}
