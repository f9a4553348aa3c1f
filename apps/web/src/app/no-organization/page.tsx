import { EmptyState } from '@fairlead/ui/empty-state';
import type { Metadata } from 'next';
import { SignOutButton } from '../../features/identity/sign-out-button.tsx';

export const metadata: Metadata = { title: 'No organization' };

export default function NoOrganizationPage() {
  return (
    <main className="grid min-h-dvh place-content-center">
      <EmptyState level={1} title="You belong to no organization" action={<SignOutButton />}>
        Ask an owner to add you, then open this page again.
      </EmptyState>
    </main>
  );
}
