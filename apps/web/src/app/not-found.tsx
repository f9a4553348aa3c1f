import { EmptyState } from '@fairlead/ui/empty-state';
import type { Metadata } from 'next';
import { HomeLink } from '../common/page/home-link.tsx';
import { ProblemPage } from '../common/page/problem-page.tsx';

export const metadata: Metadata = { title: { absolute: 'Page not found · Fairlead' } };

export default function NotFound() {
  return (
    <ProblemPage>
      <EmptyState level={1} title="Page not found" action={<HomeLink />}>
        It may have been deleted, or you are not a member of its organization.
      </EmptyState>
    </ProblemPage>
  );
}
