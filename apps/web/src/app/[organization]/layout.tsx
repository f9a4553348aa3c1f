// Layout of all pages inside an organization, for its members only. Provides their shared client, cache and frame.
import type { Metadata } from 'next';
import { notFound } from 'next/navigation';
import type { ReactNode } from 'react';
import { ApiProvider } from '../../api/trpc.tsx';
import { UnsavedChangesProvider } from '../../common/form/unsaved-changes.tsx';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { MeProvider } from '../../common/organization/me.tsx';
import { TwoFactorNeeded } from '../../features/organization/two-factor-needed.tsx';
import { pageApi } from '../../server/page-api.tsx';
import { parts } from '../../server/parts.ts';
import { Shell } from '../../shell/shell.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
  readonly children: ReactNode;
}

/** Ends in a 404 before the page below sets a title, which would say what the organization has. */
export async function generateMetadata({ params }: Pick<Props, 'params'>): Promise<Metadata> {
  await requireOrganization(params);
  return {};
}

export default async function OrganizationLayout({ params, children }: Props) {
  const { me, organization } = await requireOrganization(params);
  const { slug } = organization;
  const { env } = await parts();
  return (
    <ApiProvider organization={slug}>
      <MeProvider me={me} organization={organization}>
        <ConfirmIdentityProvider>
          <UnsavedChangesProvider>
            {organization.requiresTwoFactor && !me.user.hasSecondFactor ? (
              <TwoFactorNeeded />
            ) : (
              <Shell version={env.FAIRLEAD_VERSION}>{children}</Shell>
            )}
          </UnsavedChangesProvider>
        </ConfirmIdentityProvider>
      </MeProvider>
    </ApiProvider>
  );
}

/** Ends in a 404 for an organization that is not there or that the reader is no member of. */
async function requireOrganization(params: Props['params']) {
  const { organization: slug } = await params;
  const api = await pageApi(slug);
  const me = await api.require(api.queryClient.fetchQuery(api.trpc.session.me.queryOptions()));
  const organization = me.organizations.find((each) => each.slug === slug);
  return organization === undefined ? notFound() : { me, organization };
}
