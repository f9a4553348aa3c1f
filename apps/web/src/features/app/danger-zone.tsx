'use client';
// Danger zone of an app's settings: removal from one environment, and deletion.
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DeleteAppCard } from './delete-app-card.tsx';
import { RemoveFromEnvironmentCard } from './remove-from-environment-card.tsx';

export function DangerZone({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { can } = useMe();
  const { app } = useAppInEnvironment(slug, initial);
  const mayRemove = !app.isPrimary && can('app.delete', app);
  const mayDelete = can('app.delete', { projectId: app.projectId });
  if (!mayRemove && !mayDelete) {
    return <p className="text-ink-soft">You need the permission “Delete apps” to remove or delete this app.</p>;
  }
  return (
    <>
      {mayRemove ? <RemoveFromEnvironmentCard key={app.environmentId} app={app} /> : null}
      {mayDelete ? <DeleteAppCard app={app} /> : null}
    </>
  );
}
