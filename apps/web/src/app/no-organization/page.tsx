import { buttonClass } from '@fairlead/ui/button';
import { EmptyState } from '@fairlead/ui/empty-state';
import type { Metadata } from 'next';
import { newOrganizationPath } from '../../common/organization/paths.ts';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { SignOutButton } from '../../features/identity/sign-out-button.tsx';

export const metadata: Metadata = { title: 'No organization' };

export default function NoOrganizationPage() {
  return (
    <main className="grid min-h-dvh place-content-center">
      <EmptyState
        level={1}
        title="You are not in an organization"
        action={
          <>
            <HoverLink href={newOrganizationPath} className={buttonClass('accent')}>
              Create organization
            </HoverLink>
            <SignOutButton />
          </>
        }
      >
        Create one, or ask an owner for an invitation.
      </EmptyState>
    </main>
  );
}
