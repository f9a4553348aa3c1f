'use client';
import { PageHeader } from '@fairlead/ui/page-header';
import { useMe } from '../../common/organization/me.tsx';
// Lists all deployments of the organization.
import { OrganizationLive } from '../../common/organization/organization-live.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { DeploymentListPanel } from './deployment-list.tsx';

export function DeploymentListPage() {
  const { paths } = useMe();
  return (
    <OrganizationLive>
      <Page>
        <PageHeader breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />} title="Deployments" />
        <DeploymentListPanel place={null} emptyHint="Open an app and press Deploy." />
      </Page>
    </OrganizationLive>
  );
}
