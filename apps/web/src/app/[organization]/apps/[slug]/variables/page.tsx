import type { Metadata } from 'next';
import { VariablesPage } from '../../../../../features/variable/variables-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Environment variables' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.variable.list.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.secret.list.queryOptions(placement)),
  );
  return <VariablesPage slug={slug} initial={app} />;
});
