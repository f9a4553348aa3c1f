import { EmptyState } from '@fairlead/ui/empty-state';
import type { Metadata } from 'next';
import { HomeLink } from '../../common/page/home-link.tsx';
import { Page } from '../../common/page/page.tsx';

export const metadata: Metadata = { title: { absolute: 'Page not found · Fairlead' } };

export default function NotFound() {
  return (
    <Page>
      <EmptyState level={1} title="Page not found" action={<HomeLink />}>
        It may have been deleted, or the address is wrong.
      </EmptyState>
    </Page>
  );
}
