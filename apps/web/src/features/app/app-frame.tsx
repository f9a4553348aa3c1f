'use client';
// Frame of all pages of an app: header with state and actions, tabs, and their shared live stream.
import { Button, buttonClass, IconButton } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Menu, MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { PageHeader } from '@fairlead/ui/page-header';
import { TabBar, TabLabel, tabClass } from '@fairlead/ui/tabs';
import { useMutation } from '@tanstack/react-query';
import { ChartSpline, Ellipsis, ExternalLink, FolderUp, History, Play, Settings } from 'lucide-react';
import dynamic from 'next/dynamic';
import { usePathname } from 'next/navigation';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { LivePage } from '../../api/live.tsx';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { WaitingNote } from '../../common/app/waiting-note.tsx';
import { LookPill } from '../../common/deployment/state-view.tsx';
import { appLook, isInProgress } from '../../common/deployment/states.ts';
import { useGuardedPush } from '../../common/form/unsaved-changes.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { isLocalUrl } from '../../common/local-ca/local-url.ts';
import { MeScope, useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { EnvironmentMenu } from './environment-menu.tsx';
import { LiveCommit } from './live-commit.tsx';

const UploadDialog = dynamic(() => import('./upload-dialog.tsx').then((module) => module.UploadDialog), {
  ssr: false,
});

const TrustLocalHttps = dynamic(
  () => import('../../common/local-ca/trust-local-https.tsx').then((module) => module.TrustLocalHttps),
  { ssr: false },
);

export interface AppFrameProps {
  readonly slug: string;
  /** Initial data from the server; the query cache takes over. */
  readonly initial: AppDetail;
  readonly children: ReactNode;
}

/** Messages for secrets that cannot be delivered; running instances keep the values they have. */
const SECRETS_PROBLEM = {
  undecryptable:
    "A secret of this app can't be decrypted. Running instances continue, but no new ones start. Restore the master key from its backup, or set the values again under Environment variables, then deploy.",
  no_room:
    'The secrets of all apps on its server are too large in total, so this app was left out. Running instances continue, but no new ones start. Make some secrets smaller, then deploy.',
} as const;

export function AppFrame({ slug, initial, children }: AppFrameProps) {
  const { paths, can } = useMe();
  const { app, linkEnvironmentId, placement } = useAppInEnvironment(slug, initial);
  const { lastDeployment } = app;
  const isProtected = placement?.protected === true;
  const inProgress = lastDeployment !== null && isInProgress(lastDeployment.state) ? lastDeployment : null;
  return (
    <LivePage topics={[{ kind: 'app', id: app.id }]}>
      <MeScope scope={app}>
        <Page>
          <PageHeader
            breadcrumb={<Crumbs items={[{ title: 'Apps', href: paths.apps }]} />}
            title={app.name}
            pill={
              <>
                <LookPill look={appLook[app.status]} />
                <EnvironmentMenu app={app} />
              </>
            }
            detail={<AppFacts app={app} />}
            actions={
              <MeScope scope={app} isProtected={isProtected}>
                <AppActions app={app} />
              </MeScope>
            }
            tabs={<AppTabs app={app} linkEnvironmentId={linkEnvironmentId} />}
          />
          {app.secretsProblem === null ? null : (
            <ErrorNote className="mb-6">{SECRETS_PROBLEM[app.secretsProblem]}</ErrorNote>
          )}
          <WaitingNote waiting={app.waiting} href={inProgress === null ? null : paths.deployment(inProgress.id)} />
          {isProtected && !can('deployment.approve', app) ? (
            <p className="mb-6 text-ink-soft text-sm">
              {placement.environmentName} is protected.{' '}
              {can('deployment.write', app)
                ? 'You can request deployments. Only members who may approve them can make other changes here.'
                : 'Only members who may approve deployments can make changes here.'}
            </p>
          ) : null}
          <MeScope scope={app} isProtected={isProtected}>
            {children}
          </MeScope>
        </Page>
      </MeScope>
    </LivePage>
  );
}

function AppFacts({ app }: { readonly app: AppDetail }) {
  const { url } = app;
  return (
    <div className="flex min-h-5 min-w-0 flex-wrap items-center gap-x-4 gap-y-1">
      {url === null ? null : (
        <a
          href={url}
          target="_blank"
          rel="noreferrer"
          className="inline-flex min-w-0 max-w-full rounded-mark font-mono text-ink-soft text-sm hover:text-ink hover:underline"
        >
          <span className="truncate">{url.replace(/^https?:\/\//, '')}</span>
          <span className="sr-only"> (opens in a new tab)</span>
        </a>
      )}
      {isLocalUrl(url) ? (
        // Loaded later: its room is kept, so that nothing moves.
        <span className="inline-flex min-h-7 min-w-40 items-center">
          <TrustLocalHttps url={url} serverId={app.serverId} />
        </span>
      ) : null}
      <LiveCommit app={app} />
    </div>
  );
}

interface AppTabsProps {
  readonly app: AppDetail;
  readonly linkEnvironmentId: string | undefined;
}

function AppTabs({ app, linkEnvironmentId }: AppTabsProps) {
  const { paths, can } = useMe();
  const { slug } = app;
  const pathname = usePathname();
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    // A phone shows a part of the tabs: the current one must be in it.
    if (pathname !== '') current.current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [pathname]);
  const tabs: readonly Tab[] = [
    { title: 'Overview', to: paths.app },
    { title: 'Deployments', to: paths.appDeployments },
    ...(can('log.read', app) ? [{ title: 'Logs', to: paths.appLogs }] : []),
    { title: 'Environment variables', to: paths.appVariables },
    { title: 'Domains', to: paths.appDomains },
    ...(app.repositoryUrl === '' ? [] : [{ title: 'Previews', to: paths.appPreviews }]),
    { title: 'Storage', to: paths.appStorage },
    { title: 'Settings', to: paths.appSettings, root: `${paths.app(slug)}/settings/` },
  ];
  return (
    <TabBar label="App">
      {tabs.map(({ title, to, root }) => {
        const isCurrent = root === undefined ? pathname === to(slug) : pathname.startsWith(root);
        return (
          <HoverLink
            key={title}
            ref={isCurrent ? current : undefined}
            href={to(slug, linkEnvironmentId)}
            aria-current={isCurrent ? 'page' : undefined}
            className={tabClass(isCurrent)}
          >
            <TabLabel>{title}</TabLabel>
          </HoverLink>
        );
      })}
    </TabBar>
  );
}

interface Tab {
  readonly title: string;
  readonly to: (slug: string, environmentId?: string) => string;
  /** Start of the paths of all its pages; default: the one page that it opens. */
  readonly root?: string;
}

function AppActions({ app }: { readonly app: AppDetail }) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const push = useGuardedPush();
  const [uploading, setUploading] = useState(false);
  const deploy = useAction(
    useMutation(trpc.deployment.create.mutationOptions()),
    "The app wasn't deployed",
    ({ deploymentId }) => push(paths.deployment(deploymentId)),
  );
  const { url, lastDeployment } = app;
  const isUploaded = app.repositoryUrl === '' && app.image === null;
  return (
    <>
      {uploading ? <UploadDialog app={app} onClose={() => setUploading(false)} /> : null}
      {url === null ? null : (
        <a href={url} target="_blank" rel="noreferrer" className={buttonClass('plain')}>
          <ExternalLink size={15} aria-hidden="true" />
          Visit
          <span className="sr-only"> {app.name} (opens in a new tab)</span>
        </a>
      )}
      {can('deployment.write', app) ? (
        <Button
          variant="accent"
          icon={isUploaded ? <FolderUp size={15} aria-hidden="true" /> : <Play size={15} aria-hidden="true" />}
          pending={deploy.pending}
          onClick={() =>
            isUploaded ? setUploading(true) : deploy.run({ appId: app.id, environmentId: app.environmentId })
          }
        >
          {isUploaded ? 'Upload' : 'Deploy'}
        </Button>
      ) : null}
      <Menu
        label="More actions"
        trigger={(trigger) => (
          <IconButton {...trigger} label="More actions">
            <Ellipsis size={18} aria-hidden="true" />
          </IconButton>
        )}
      >
        {lastDeployment === null ? null : (
          <MenuItem icon={<History size={15} />} onSelect={() => push(paths.deployment(lastDeployment.id))}>
            Last deployment
          </MenuItem>
        )}
        {can('benchmark.write', app) ? (
          <MenuItem icon={<ChartSpline size={15} />} onSelect={() => push(paths.startBenchmark(app.slug))}>
            Run benchmark
          </MenuItem>
        ) : null}
        <MenuSeparator />
        <MenuItem
          icon={<Settings size={15} />}
          onSelect={() => push(paths.appSettings(app.slug, app.isPrimary ? undefined : app.environmentId))}
        >
          Settings
        </MenuItem>
      </Menu>
    </>
  );
}
