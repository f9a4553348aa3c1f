import type { Metadata } from 'next';
import { AppDomainsPage } from '../../../../../features/app/app-domains-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Domains' };

export default appPage(async ({ slug, app }) => {
  return <AppDomainsPage slug={slug} initial={app} />;
});
