'use client';
// Git settings: the organization's GitHub Apps with their installations, and how to connect one.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { useFormats } from '@fairlead/ui/formats';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { StateText, type Tone } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { GitBranch } from 'lucide-react';
import { useTRPC } from '../../api/trpc.tsx';
import type { GithubApp } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { AppAddressesNote } from './app-addresses-note.tsx';
import { RemoveGithubApp } from './remove-github-app.tsx';

type Installation = GithubApp['installations'][number];

const STATES: Readonly<Record<Installation['state'], { readonly tone: Tone; readonly label: string }>> = {
  active: { tone: 'ok', label: 'Installed' },
  suspended: { tone: 'warn', label: 'Suspended' },
  removed: { tone: 'bad', label: 'Uninstalled' },
};

export function GitSettingsPage() {
  const { can, paths } = useMe();
  const apps = useQuery(useTRPC().github.listApps.queryOptions());
  const mayWrite = can('organization.write');
  // A whole page load, because only that page may post a form to GitHub.
  const connect = (
    <a href={paths.registerGithub} className={buttonClass('accent')}>
      Connect GitHub
    </a>
  );
  const hasApps = (apps.data?.items.length ?? 0) > 0;
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Settings', href: paths.settings }]} />}
        title="Git"
        detail="GitHub accounts with repositories that this organization deploys."
        actions={mayWrite && hasApps ? connect : undefined}
      />
      <QueryView query={apps} skeleton={<SkeletonRows rows={4} />}>
        {({ items }) =>
          items.length === 0 ? (
            <Card>
              <EmptyState
                icon={<GitBranch size={20} aria-hidden="true" />}
                title="No GitHub account is connected"
                action={mayWrite ? connect : null}
              >
                Connect one to pick private repositories from a list and to deploy each push. Fairlead creates a GitHub
                App that belongs to you: it can read the repositories you choose, and report checks and deployments.
                {mayWrite ? null : ' An owner or admin can connect it.'}
              </EmptyState>
            </Card>
          ) : (
            <div className="flex flex-col gap-6">
              {items.map((app) => (
                <AppCard key={app.id} app={app} mayWrite={mayWrite} />
              ))}
            </div>
          )
        }
      </QueryView>
    </Page>
  );
}

function AppCard({ app, mayWrite }: { readonly app: GithubApp; readonly mayWrite: boolean }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const refresh = useAction(useMutation(trpc.github.sync.mutationOptions()), "Repositories weren't refreshed", () => {
    void queryClient.invalidateQueries(trpc.github.pathFilter());
    toast({ title: 'Repositories are up to date' });
  });
  const install = useAction(
    useFreshMutation(trpc.github.startInstall.mutationOptions()),
    "The app wasn't installed",
    ({ url }) => window.location.assign(url),
  );
  const isInstalled = app.installations.some(({ state }) => state !== 'removed');
  return (
    <Card>
      <CardHeader
        title={app.ownerLogin}
        detail={
          <>
            <a href={app.url} target="_blank" rel="noreferrer" className="hover:underline">
              {app.name} on {new URL(app.baseUrl).host}
            </a>
            <span className="block break-all font-mono">{app.id}</span>
          </>
        }
        action={
          <div className="flex items-center gap-2">
            <Button size="small" pending={refresh.pending} onClick={() => refresh.run({ githubAppId: app.id })}>
              Refresh
            </Button>
            {mayWrite ? <RemoveGithubApp app={app} /> : null}
          </div>
        }
      />
      {app.installations.length === 0 ? null : (
        <ul>
          {app.installations.map((installation) => (
            <InstallationRow key={installation.id} installation={installation} />
          ))}
        </ul>
      )}
      {isInstalled || !mayWrite ? null : (
        <div className="flex flex-wrap items-center gap-3 border-line border-t px-4 py-3">
          <p className="min-w-0 flex-1 basis-60 text-ink-soft">
            The app exists. Install it on {app.ownerLogin} to choose its repositories.
          </p>
          <Button variant="accent" pending={install.pending} onClick={() => install.run({ githubAppId: app.id })}>
            Install app
          </Button>
        </div>
      )}
      {mayWrite ? <AppAddressesNote app={app} /> : null}
    </Card>
  );
}

function InstallationRow({ installation }: { readonly installation: Installation }) {
  const { plural } = useFormats();
  const { accountLogin, state, repositories, repositorySelection, apps, syncedAt, manageUrl } = installation;
  const { tone, label } = STATES[state];
  return (
    <li className="flex min-h-14 flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-2.5">
      <span className="min-w-0 flex-1 basis-52">
        <span className="block truncate font-medium">{accountLogin}</span>
        <span className="block text-ink-faint text-sm">
          {repositorySelection === 'all' ? 'All repositories: ' : ''}
          {plural(repositories, 'repository', 'repositories')}, {plural(apps, 'app')}
          {syncedAt === null ? null : (
            <>
              {' · read '}
              <RelativeTime at={syncedAt} />
            </>
          )}
        </span>
        {state === 'active' ? null : (
          <span className="block text-pretty text-ink-soft text-sm">
            {state === 'suspended'
              ? 'Builds of its apps fail until an owner of the account unsuspends the GitHub App.'
              : 'Builds of its apps fail until you install the GitHub App again.'}
          </span>
        )}
      </span>
      <StateText tone={tone}>{label}</StateText>
      <a href={manageUrl} target="_blank" rel="noreferrer" className={buttonClass('plain', 'small')}>
        Choose repositories
      </a>
    </li>
  );
}
