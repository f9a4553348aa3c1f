import { LogPage } from '../../../../../features/log/log-page.tsx';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
}

// The lines are asked for by the browser: a page must not wait for a server that may be slow.
export default async function Page({ params }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  return (
    <Hydrated organization={organization}>
      <LogPage slug={slug} initial={app} />
    </Hydrated>
  );
}
