import type { ReactNode } from 'react';
import { SettingsFrame } from '../../../../../features/config/settings-frame.tsx';
import { pageApi } from '../../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly children: ReactNode;
}

export default async function SettingsLayout({ params, children }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  return (
    <SettingsFrame slug={slug} initial={app}>
      {children}
    </SettingsFrame>
  );
}
