import type { Metadata } from 'next';
import { DeploysSettings } from '../../../../../../features/config/deploys-page.tsx';
import { PushCard } from '../../../../../../features/push/push-card.tsx';
import { WebhooksCard } from '../../../../../../features/push/webhooks-card.tsx';
import { appPage } from '../../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Deploy settings' };

export default appPage(async ({ api, slug, app, placement }) => {
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.config.get.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.push.getRules.queryOptions(placement)),
    api.queryClient.prefetchQuery(api.trpc.webhook.list.queryOptions({ appId: app.id })),
  );
  return (
    <>
      <DeploysSettings slug={slug} initial={app}>
        <PushCard slug={slug} initial={app} />
      </DeploysSettings>
      <WebhooksCard app={app} />
    </>
  );
});
