import type { Metadata } from 'next';
import type { ReactNode } from 'react';
import { AppFrame } from '../../../../features/app/app-frame.tsx';
import { Hydrated, pageApi } from '../../../../server/page-api.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string; readonly slug: string }>;
  readonly children: ReactNode;
}

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { organization, slug } = await params;
  const api = await pageApi(organization);
  const app = api.queryClient.fetchQuery(api.trpc.app.get.queryOptions({ slug }));
  const name = await api.title(app, (found) => found.name);
  return { title: { default: name, template: `%s · ${name} · Fairlead` } };
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
