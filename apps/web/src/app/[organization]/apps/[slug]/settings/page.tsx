import { AppSettingsPage } from '../../../../../features/app/app-settings-page.tsx';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
}

export default async function Page({ params }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  return (
    <Hydrated organization={organization}>
      <AppSettingsPage slug={slug} initial={app} />
    </Hydrated>
  );
}
