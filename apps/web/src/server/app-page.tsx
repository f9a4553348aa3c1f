// Makes the pages of an app. Each loads the app in the environment that the URL names.
import 'server-only';
import type { ReactNode } from 'react';
import type { AppDetail } from '../api/types.ts';
import { organizationPage, type PageContext } from './organization-page.tsx';
import type { PageApi } from './page-api.tsx';

interface AppPageContext extends Pick<PageContext<unknown>, 'api' | 'search' | 'timeZone'> {
  readonly slug: string;
  readonly app: AppDetail;
  /** Input of calls about this app in this environment. */
  readonly placement: { readonly appId: AppDetail['id']; readonly environmentId: AppDetail['environmentId'] };
}

export function appPage(render: (context: AppPageContext) => Promise<ReactNode>) {
  return organizationPage<{ readonly organization: string; readonly slug: string }>(
    async ({ api, params: { slug }, search, timeZone }) => {
      const app = await loadApp(api, slug, search('environment'));
      const placement = { appId: app.id, environmentId: app.environmentId };
      return render({ api, search, timeZone, slug, app, placement });
    },
  );
}

/** Ignores an environment that the app is not in: the URL may be older than the environment. */
async function loadApp({ queryClient, trpc, require }: PageApi, slug: string, environment: string): Promise<AppDetail> {
  const primary = await require(queryClient.fetchQuery(trpc.app.get.queryOptions({ slug })));
  const found = primary.placements.find(
    ({ environmentId }) => environmentId === environment && environmentId !== primary.environmentId,
  );
  if (found === undefined) return primary;
  const { environmentId } = found;
  return require(queryClient.fetchQuery(trpc.app.get.queryOptions({ slug, environmentId })));
}
