import { AppSettingsPage } from '../../../../../features/app/app-settings-page.tsx';
import { CredentialsCard } from '../../../../../features/credential/credentials-card.tsx';
import { EnvironmentProtection } from '../../../../../features/environment/environment-protection.tsx';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
}

export default async function Page({ params }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.credential.list.queryOptions({ appId: app.id })),
  );
  return (
    <Hydrated organization={organization}>
      <div className="flex flex-col gap-6">
        <AppSettingsPage slug={slug} initial={app}>
          <CredentialsCard app={app} />
        </AppSettingsPage>
        <EnvironmentProtection app={app} />
      </div>
    </Hydrated>
  );
}
