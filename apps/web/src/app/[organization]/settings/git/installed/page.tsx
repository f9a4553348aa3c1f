import type { Metadata } from 'next';
import { InstalledPage } from '../../../../../features/github/returned-page.tsx';
import { organizationPage } from '../../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Connect GitHub' };

export default organizationPage(async ({ search }) => {
  const installationId = /^\d{1,15}$/.test(search('installation_id')) ? Number(search('installation_id')) : 0;
  return <InstalledPage state={search('state')} code={search('code')} installationId={installationId} />;
});
