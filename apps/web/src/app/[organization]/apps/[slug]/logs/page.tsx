import { LogPage } from '../../../../../features/log/log-page.tsx';
import { loadApp } from '../../../../../server/load-app.ts';
import { Hydrated, pageApi } from '../../../../../server/page-api.tsx';
import type { SearchParams } from '../../../../../server/search-params.ts';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly searchParams: Promise<SearchParams>;
}

// The browser fetches the lines: a page must not wait for a server that may be slow.
export default async function Page({ params, searchParams }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await loadApp(api, slug, searchParams);
  return (
    <Hydrated organization={organization}>
      <LogPage slug={slug} initial={app} />
    </Hydrated>
  );
}
