'use client';
// Account page: profile, sign-in methods and sessions.
import { useViewer, ViewerProvider } from '@fairlead/ui/formats';
import { Logo } from '@fairlead/ui/logo';
import { PageHeader } from '@fairlead/ui/page-header';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { ActivityCard } from './activity-card.tsx';
import { EmailCard } from './email-card.tsx';
import { GithubCard } from './github-card.tsx';
import { PasskeyCard } from './passkey-card.tsx';
import { PasswordCard } from './password-card.tsx';
import { ProfileCard } from './profile-card.tsx';
import { RegionCard, type RegionChoices } from './region-card.tsx';
import { SessionCard } from './session-card.tsx';
import { TwoFactorCard } from './two-factor-card.tsx';

export function AccountPage({ choices }: { readonly choices: RegionChoices }) {
  const browser = useViewer();
  const account = useQuery(useTRPC().account.get.queryOptions());
  return (
    <main>
      <Page>
        <div className="mb-8 flex items-center justify-between gap-4">
          <Logo size={22} />
          <HoverLink href="/" className="text-sm text-ink-soft hover:text-ink">
            Back to the dashboard
          </HoverLink>
        </div>
        <PageHeader title="Your account" />
        <QueryView query={account} skeleton={<SkeletonRows rows={8} />}>
          {(data) => (
            <ViewerProvider locale={data.locale} timeZone={data.timeZone}>
              <div className="flex flex-col gap-6">
                <ProfileCard name={data.name} />
                <RegionCard account={data} choices={choices} browser={browser} />
                <EmailCard account={data} />
                <PasswordCard email={data.email} />
                <PasskeyCard passkeys={data.passkeys} />
                <TwoFactorCard account={data} />
                <GithubCard />
                <SessionCard />
                <ActivityCard />
              </div>
            </ViewerProvider>
          )}
        </QueryView>
      </Page>
    </main>
  );
}
