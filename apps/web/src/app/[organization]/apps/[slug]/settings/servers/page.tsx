import type { Metadata } from 'next';
import { ServersCard } from '../../../../../../features/config/servers-card.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Server settings' };

export default appPage(async ({ slug, app }) => {
  return <ServersCard slug={slug} initial={app} />;
});
