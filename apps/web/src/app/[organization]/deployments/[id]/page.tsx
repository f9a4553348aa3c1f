import type { Metadata } from 'next';
import { makeQueryClient } from '../../../../api/query-client.ts';
import type { DeploymentDetail } from '../../../../api/types.ts';
import { DeploymentPage } from '../../../../features/deployment/deployment-page.tsx';
import {
  cutExcerpt,
  type FailureExcerptLines,
  failingLines,
  failureOf,
} from '../../../../features/deployment/failing-lines.ts';
import { storedLines } from '../../../../features/deployment/merge-log-lines.ts';
import { PAGE_LINES, readStoredLog } from '../../../../features/deployment/stored-log.ts';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { type PageApi, pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

/** Returns null if the deployment did not fail, or its log cannot be read; the browser reads the log itself. */
async function readExcerpt(api: PageApi, deployment: DeploymentDetail): Promise<FailureExcerptLines | null> {
  if (deployment.state !== 'failed') return null;
  const deploymentId = deployment.id;
  // Not the page's cache, which the browser gets whole.
  const queries = makeQueryClient();
  const readPage = (fromLine: number) =>
    queries.fetchQuery(
      api.trpc.deployment.log.queryOptions({ deploymentId, fromLine, limit: PAGE_LINES }, { retry: false }),
    );
  const log = await readStoredLog(readPage).catch(() => null);
  if (log === null) return null;
  const lines = storedLines(log.lines, log.nextLine);
  const failing = failingLines(lines, failureOf(deployment));
  return failing && cutExcerpt(lines, failing);
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.deployment.get.queryOptions({ deploymentId: id }));
  return { title: await api.title(found, (deployment) => `${deployment.appName} #${deployment.number}`) };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(async ({ api, params }) => {
  const deployment = await api.require(
    api.queryClient.fetchQuery(api.trpc.deployment.get.queryOptions({ deploymentId: params.id })),
  );
  const { appSlug: slug, environmentId } = deployment;
  const [excerpt] = await Promise.all([
    readExcerpt(api, deployment),
    api.load(api.queryClient.prefetchQuery(api.trpc.app.get.queryOptions({ slug, environmentId }))),
  ]);
  return <DeploymentPage deploymentId={deployment.id} initial={deployment} initialExcerpt={excerpt} />;
});
