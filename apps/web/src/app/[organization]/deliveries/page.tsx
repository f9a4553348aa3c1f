import type { Metadata } from 'next';
import { isOutcome } from '../../../features/push/decision-looks.ts';
import { DeliveryListPage } from '../../../features/push/delivery-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Webhook deliveries' };

export default organizationPage(async ({ api, search }) => {
  const outcome = search('outcome');
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.push.list.infiniteQueryOptions(isOutcome(outcome) ? { outcome } : {}, {
        getNextPageParam: (page) => page.nextCursor,
      }),
    ),
  );
  return <DeliveryListPage />;
});
