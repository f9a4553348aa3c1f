import type { Metadata } from 'next';
import { ControlPlanePage } from '../../../../features/control-plane/control-plane-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Control plane' };

export default organizationPage(async ({ api }) => {
  await api.main(api.queryClient.fetchQuery(api.trpc.controlPlane.get.queryOptions()));
  return <ControlPlanePage />;
});
