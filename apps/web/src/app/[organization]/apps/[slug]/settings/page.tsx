import { AppSettingsPage } from '../../../../../features/app/app-settings-page.tsx';
import { CredentialsCard } from '../../../../../features/credential/credentials-card.tsx';
import { EnvironmentProtection } from '../../../../../features/environment/environment-protection.tsx';
import { loadApp } from '../../../../../server/load-app.ts';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';
import type { SearchParams } from '../../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await loadApp(api, slug, searchParams);
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()),
    api.queryClient.prefetchQuery(api.trpc.credential.list.queryOptions({ appId: app.id })),
  );
  return (
    <Hydrated organization={organization}>
      <AppSettingsPage slug={slug} initial={app}>
        <CredentialsCard app={app} />
        <EnvironmentProtection slug={slug} initial={app} />
      </AppSettingsPage>
    </Hydrated>
  );
}
