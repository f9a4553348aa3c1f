'use client';
// Every deployment of the organization.
import { PageHeader } from '@fairlead/ui/page-header';
import { LivePage } from '../../api/live.tsx';
import { useMe } from '../../common/me.tsx';
import { Crumbs, Page } from '../../common/page.tsx';
import { DeploymentListPanel } from './deployment-list.tsx';

export function DeploymentListPage() {
  const { organization, paths } = useMe();
  return (
    <LivePage topics={[{ kind: 'organization', id: organization.id }]}>
      <Page>
        <PageHeader breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />} title="Deployments" />
        <DeploymentListPanel appId={null} emptyHint="Open an app and press Deploy." />
      </Page>
    </LivePage>
  );
}
