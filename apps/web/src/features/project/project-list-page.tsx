'use client';
// Lists projects with their apps and environments; creates, renames and deletes them.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { FolderKanban, Plus } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { ProjectNameDialog } from './project-name-dialog.tsx';
import { ProjectRows } from './project-rows.tsx';

export function ProjectListPage() {
  const { can } = useMe();
  const projects = useQuery(useTRPC().project.list.queryOptions());
  const [creating, setCreating] = useState(false);
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          title="Projects"
          detail="Apps that belong together, with their own environments. Roles and API tokens can apply to one project only."
          actions={
            can('project.write') ? (
              <Button variant="accent" icon={<Plus size={16} aria-hidden="true" />} onClick={() => setCreating(true)}>
                New project
              </Button>
            ) : null
          }
        />
        <Card>
          <QueryView query={projects} skeleton={<SkeletonRows rows={4} />}>
            {({ items }) =>
              items.length === 0 ? (
                <EmptyState icon={<FolderKanban size={20} />} title="No projects">
                  You have no role in a project of this organization. Ask an owner for one.
                </EmptyState>
              ) : (
                <ProjectRows projects={items} />
              )
            }
          </QueryView>
        </Card>
        {creating ? <ProjectNameDialog project={null} onClose={() => setCreating(false)} /> : null}
      </Page>
    </OrganizationLive>
  );
}
