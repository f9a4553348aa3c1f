import type { Metadata } from 'next';
import { DangerZone } from '../../../../../../features/app/danger-zone.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Danger zone' };

export default appPage(async ({ slug, app }) => {
  return <DangerZone slug={slug} initial={app} />;
});
