'use client';
// Organization settings: name, security requirements, and transfer, leave or delete.
import { PageHeader } from '@fairlead/ui/page-header';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { DangerCard } from './danger-card.tsx';
import { KeyCard } from './key-card.tsx';
import { NameCard } from './name-card.tsx';
import { TwoFactorCard } from './two-factor-card.tsx';

export function OrganizationPage() {
  const { can, paths } = useMe();
  return (
    <Page>
      <PageHeader breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />} title="Organization" />
      <div className="flex flex-col gap-6">
        <NameCard readOnly={!can('organization.write')} />
        <TwoFactorCard readOnly={!can('organization.write')} />
        {can('organization.write') ? <KeyCard /> : null}
        <DangerCard />
      </div>
    </Page>
  );
}
