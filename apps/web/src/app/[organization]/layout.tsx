// Layout of all pages inside an organization, for its members only. Provides their shared client, cache and frame.
import type { Metadata } from 'next';
import { notFound } from 'next/navigation';
import type { ReactNode } from 'react';
import { ApiProvider } from '../../api/trpc.tsx';
import { UnsavedChangesProvider } from '../../common/form/unsaved-changes.tsx';
import { ConfirmIdentityProvider } from '../../common/identity/confirm-identity.tsx';
import { MeProvider } from '../../common/organization/me.tsx';
import { TwoFactorNeeded } from '../../features/organization/two-factor-needed.tsx';
import { notFoundMetadata, pageApi } from '../../server/page-api.tsx';
import { parts } from '../../server/parts.ts';
import { Shell } from '../../shell/shell.tsx';

interface Props {
  readonly params: Promise<{ readonly organization: string }>;
  readonly children: ReactNode;
}

/** Sets only the title. A notFound() here would leave the 404 page without one; the layout calls it instead. */
export async function generateMetadata({ params }: Pick<Props, 'params'>): Promise<Metadata> {
  const { organization: slug } = await params;
  const api = await pageApi(slug);
  const me = await api.queryClient.fetchQuery(api.trpc.session.me.queryOptions()).catch(() => null);
  return me === null || me.organizations.some((each) => each.slug === slug) ? {} : notFoundMetadata;
}

export default async function OrganizationLayout({ params, children }: Props) {
  const { organization: slug } = await params;
  const api = await pageApi(slug);
  const me = await api.require(api.queryClient.fetchQuery(api.trpc.session.me.queryOptions()));
  const organization = me.organizations.find((each) => each.slug === slug);
  if (organization === undefined) notFound();
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
