'use client';
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
// Lists the apps that were deleted in the last seven days, to restore them or to delete them permanently.
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { DeletedApp } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useRestoreApp } from './use-restore-app.ts';

export function DeletedAppsPage() {
  const { paths } = useMe();
  const deleted = useQuery(useTRPC().app.listDeleted.queryOptions());
  return (
    <OrganizationLive>
      <Page>
        <PageHeader
          breadcrumb={
            <HoverLink href={paths.apps} className="hover:text-ink">
              Apps
            </HoverLink>
          }
          title="Recently deleted"
          detail="A deleted app can be restored for seven days. Its name, host names and volumes stay reserved until then."
        />
        <Card>
          <QueryView query={deleted} skeleton={<SkeletonRows rows={3} />}>
            {({ items }) =>
              items.length === 0 ? (
                <EmptyState icon={<Trash2 size={20} />} title="No deleted apps">
                  When you delete an app in its settings, you find it here for seven days.
                </EmptyState>
              ) : (
                <ul>
                  {items.map((app) => (
                    <DeletedAppRow key={app.id} app={app} />
                  ))}
                </ul>
              )
            }
          </QueryView>
        </Card>
      </Page>
    </OrganizationLive>
  );
}

function DeletedAppRow({ app }: { readonly app: DeletedApp }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const [asking, setAsking] = useState(false);
  const formats = useFormats();
  const restore = useRestoreApp();
  const purge = useFreshMutation(trpc.app.purge.mutationOptions());
  const { id: appId, name, projectName, deletedBy, deletedAt, purgeAt } = app;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-b px-4 py-3 last:border-b-0">
      <span className="min-w-0 flex-1 basis-60">
        <span className="block truncate">
          <span className="font-medium">{name}</span> <span className="text-ink-soft">in {projectName}</span>
        </span>
        <span className="block text-ink-faint text-sm">
          Deleted <RelativeTime at={deletedAt} />
          {deletedBy === null ? '' : ` by ${deletedBy}`} · {timeLeft(purgeAt, formats)}
        </span>
      </span>
      <span className="flex gap-2">
        <Button size="small" pending={restore.pending} onClick={() => restore.run({ appId })}>
          Restore
        </Button>
        <Button size="small" variant="danger-outline" onClick={() => setAsking(true)}>
          Delete permanently
        </Button>
      </span>
      {asking ? (
        <ConfirmDelete
          open
          onClose={() => setAsking(false)}
          what="app"
          name={name}
          title={`Delete ${name} permanently`}
          action="Delete permanently"
          consequences="Its settings, secrets, domains, deployments, logs, releases and benchmarks are deleted now. Volumes stay on their servers until you delete them. This can't be undone."
          pending={purge.isPending}
          error={wasCancelled(purge.error) ? null : purge.error}
          onConfirm={(confirmName) =>
            purge.mutate(
              { appId, confirmName },
              {
                onSuccess: () => {
                  void queryClient.invalidateQueries(trpc.app.pathFilter());
                  setAsking(false);
                  toast({ title: `${name} is deleted permanently` });
                },
              },
            )
          }
        />
      ) : null}
    </li>
  );
}

const dayMs = 24 * 60 * 60_000;

/** Rounds up, so that an app that was just deleted has seven days left. */
function timeLeft(purgeAt: Date, { plural }: Formats): string {
  const days = Math.ceil((purgeAt.getTime() - Date.now()) / dayMs);
  return days > 0 ? `${plural(days, 'day')} left` : 'deleted permanently soon';
}
