import type { Metadata } from 'next';
import type { ReactNode } from 'react';
import { AppFrame } from '../../../../features/app/app-frame.tsx';
import { Hydrated, notFoundMetadata, pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly children: ReactNode;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })).catch(() => null);
  return app === null ? notFoundMetadata : { title: { default: app.name, template: `%s · ${app.name} · Fairlead` } };
}

export default async function AppLayout({ params, children }: Props) {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = await api.require(api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug })));
  return (
    <Hydrated organization={organization}>
      <AppFrame slug={slug} initial={app}>
        {children}
      </AppFrame>
    </Hydrated>
  );
}
