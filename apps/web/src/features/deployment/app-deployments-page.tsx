'use client';
// Deployments of one app in one of its environments.
import type { AppDetail } from '../../api/types.ts';
import { howToBegin, usePlacedApp } from '../../common/app/app-place.ts';
import { DeploymentListPanel } from './deployment-list.tsx';

export function AppDeploymentsPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { app } = usePlacedApp(slug, initial);
  return (
    <DeploymentListPanel place={{ appId: app.id, environmentId: app.environmentId }} emptyHint={howToBegin(app)} />
  );
}
