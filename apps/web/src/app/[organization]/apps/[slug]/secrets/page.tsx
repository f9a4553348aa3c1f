import { SecretsPage } from '../../../../../features/secret/secrets-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(api.queryClient.prefetchQuery(api.trpc.secret.list.queryOptions(placement)));
  return <SecretsPage slug={slug} initial={app} />;
});
