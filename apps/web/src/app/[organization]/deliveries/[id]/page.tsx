import type { Metadata } from 'next';
import { DeliveryPage } from '../../../../features/push/delivery-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';
import { pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly id: string }>;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, id } = await params;
  const api = await pageApi(organization);
  const found = api.queryClient.fetchQuery(api.trpc.push.get.queryOptions({ deliveryId: id }));
  return { title: await api.title(found, () => 'Webhook delivery') };
}

export default organizationPage<{ readonly organization: string; readonly id: string }>(async ({ api, params }) => {
  const delivery = await api.require(
    api.queryClient.fetchQuery(api.trpc.push.get.queryOptions({ deliveryId: params.id })),
  );
  return <DeliveryPage deliveryId={delivery.id} initial={delivery} />;
});
