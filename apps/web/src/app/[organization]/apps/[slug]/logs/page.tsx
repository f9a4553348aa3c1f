import type { Metadata } from 'next';
import { LogPage } from '../../../../../features/log/log-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Logs' };

// The browser fetches the lines: a page must not wait for a server that may be slow.
export default appPage(async ({ slug, app }) => {
  return <LogPage slug={slug} initial={app} />;
});
