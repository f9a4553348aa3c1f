import { AppSettingsPage } from '../../../../../features/app/app-settings-page.tsx';
import { EnvironmentProtection } from '../../../../../features/environment/environment-protection.tsx';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
}

export default async function Page({ params }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  await api.load(api.queryClient.prefetchQuery(api.trpc.environment.list.queryOptions()));
  return (
    <Hydrated organization={organization}>
      <div className="flex flex-col gap-6">
        <AppSettingsPage slug={slug} initial={app} />
        <EnvironmentProtection app={app} />
      </div>
    </Hydrated>
  );
}
