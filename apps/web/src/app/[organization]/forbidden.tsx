import { EmptyState } from '@fairlead/ui/empty-state';
import { LockKeyhole } from 'lucide-react';
import type { Metadata } from 'next';
import { HomeLink } from '../../common/page/home-link.tsx';
import { Page } from '../../common/page/page.tsx';

export const metadata: Metadata = { title: { absolute: 'No access · Fairlead' } };

export default function Forbidden() {
  return (
    <Page>
      <EmptyState level={1} icon={<LockKeyhole size={20} />} title="You don't have access" action={<HomeLink />}>
        Your role doesn't include this page. Ask an owner of the organization for access.
      </EmptyState>
    </Page>
  );
}
