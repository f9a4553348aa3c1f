import { AppDomainsPage } from '../../../../../features/app/app-domains-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export default appPage(async ({ slug, app }) => {
  return <AppDomainsPage slug={slug} initial={app} />;
});
