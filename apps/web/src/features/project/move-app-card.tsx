'use client';
// Moves an app to another project, from the app's settings.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useMe } from '../../common/organization/me.tsx';
import { MoveAppDialog } from './move-app-dialog.tsx';

/** Hidden without another project that the reader may move the app to. */
export function MoveAppCard({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { can } = useMe();
  const { app } = useAppInEnvironment(slug, initial);
  const [open, setOpen] = useState(false);
  const projects = useQuery(useTRPC().project.list.queryOptions()).data?.items ?? [];
  const targets = projects.filter(({ id }) => id !== app.projectId && can('project.write', { projectId: id }));
  const { projectId, projectName } = app;
  if (!can('project.write', { projectId }) || !can('app.delete', { projectId }) || targets.length === 0) return null;
  return (
    <Card className="p-4">
      <h2 className="font-semibold text-lg">Project {projectName}</h2>
      <p className="mt-1 mb-4 text-pretty text-ink-soft">
        The project decides who sees the app and which environments and shared secrets it can use.
      </p>
      <Button onClick={() => setOpen(true)}>Move to another project</Button>
      {open ? <MoveAppDialog app={app} targets={targets} onClose={() => setOpen(false)} /> : null}
    </Card>
  );
}
