import type { Metadata } from 'next';
import { BenchmarkPage } from '../../../../features/benchmark/benchmark-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.benchmark.get.queryOptions({ runId: id }));
  return { title: await api.title(found, (run) => `Benchmark of ${run.appName}`) };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(async ({ api, params }) => {
  const run = await api.require(api.queryClient.fetchQuery(api.trpc.benchmark.get.queryOptions({ runId: params.id })));
  return <BenchmarkPage initial={run} />;
});
