import { AppSettingsPage } from '../../../../../features/app/app-settings-page.tsx';
import { CredentialsCard } from '../../../../../features/credential/credentials-card.tsx';
import { EnvironmentProtection } from '../../../../../features/environment/environment-protection.tsx';
import { MoveAppCard } from '../../../../../features/project/move-app-card.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export default appPage(async ({ api, slug, app }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.project.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.credential.list.queryOptions({ appId: app.id })),
  );
  return (
    <AppSettingsPage slug={slug} initial={app}>
      <CredentialsCard app={app} />
      <EnvironmentProtection slug={slug} initial={app} />
      <MoveAppCard slug={slug} initial={app} />
    </AppSettingsPage>
  );
});
