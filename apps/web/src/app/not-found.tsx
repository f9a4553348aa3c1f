import { EmptyState } from '@fairlead/ui/empty-state';
import { HomeLink } from '../common/page/home-link.tsx';

export default function NotFound() {
  return (
    <main className="grid min-h-dvh place-content-center">
      <EmptyState level={1} title="Page not found" action={<HomeLink />}>
        It may have been deleted, or you are not a member of its organization.
      </EmptyState>
    </main>
  );
}
