'use client';
// Frame of all pages of an app: header with state and actions, tabs, and their shared live stream.
import { Button, buttonClass, IconButton } from '@fairlead/ui/button';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Menu, MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { PageHeader } from '@fairlead/ui/page-header';
import { TabBar, tabClass } from '@fairlead/ui/tabs';
import { useMutation } from '@tanstack/react-query';
import { ChartSpline, Ellipsis, ExternalLink, FolderUp, History, Play, Settings } from 'lucide-react';
import dynamic from 'next/dynamic';
import { usePathname, useRouter } from 'next/navigation';
import { type ReactNode, useState } from 'react';
import { LivePage } from '../../api/live.tsx';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { WaitingNote } from '../../common/app/waiting-note.tsx';
import { LookPill } from '../../common/deployment/state-view.tsx';
import { appLook, isInProgress } from '../../common/deployment/states.ts';
import { useAction } from '../../common/form/use-action.ts';
import { MeScope, useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { EnvironmentMenu } from './environment-menu.tsx';

const UploadDialog = dynamic(() => import('./upload-dialog.tsx').then((module) => module.UploadDialog), {
  ssr: false,
});

export interface AppFrameProps {
  readonly slug: string;
  /** Initial data from the server; the query cache takes over. */
  readonly initial: AppDetail;
  readonly children: ReactNode;
}

/** Messages for secrets that cannot be delivered; running instances keep the values they have. */
const SECRETS_PROBLEM = {
  undecryptable:
    "A secret of this app can't be decrypted. Running instances continue, but no new ones start. Restore the master key from its backup, or set the values again on the Secrets page, then deploy.",
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
            detail={app.url === null ? null : <AppLink url={app.url} />}
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

function AppLink({ url }: { readonly url: string }) {
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      className="inline-flex max-w-full items-center gap-1.5 rounded-mark font-mono text-sm text-ink-soft hover:text-ink"
    >
      <span className="truncate">{url.replace(/^https?:\/\//, '')}</span>
      <ExternalLink size={13} aria-hidden="true" className="shrink-0" />
      <span className="sr-only">(opens in a new tab)</span>
    </a>
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
  const tabs = [
    { title: 'Live', href: paths.app(slug, linkEnvironmentId), page: paths.app(slug) },
    { title: 'Deployments', href: paths.appDeployments(slug, linkEnvironmentId), page: paths.appDeployments(slug) },
    { title: 'Releases', href: paths.appReleases(slug, linkEnvironmentId), page: paths.appReleases(slug) },
    ...(can('log.read', app)
      ? [{ title: 'Logs', href: paths.appLogs(slug, linkEnvironmentId), page: paths.appLogs(slug) }]
      : []),
    { title: 'Domains', href: paths.appDomains(slug, linkEnvironmentId), page: paths.appDomains(slug) },
    ...(can('secret.read')
      ? [{ title: 'Secrets', href: paths.appSecrets(slug, linkEnvironmentId), page: paths.appSecrets(slug) }]
      : []),
    { title: 'Configuration', href: paths.appConfig(slug, linkEnvironmentId), page: paths.appConfig(slug) },
    { title: 'Settings', href: paths.appSettings(slug, linkEnvironmentId), page: paths.appSettings(slug) },
  ];
  return (
    <TabBar label="App">
      {tabs.map((tab) => (
        <HoverLink
          key={tab.page}
          href={tab.href}
          aria-current={pathname === tab.page ? 'page' : undefined}
          className={tabClass(pathname === tab.page)}
        >
          {tab.title}
        </HoverLink>
      ))}
    </TabBar>
  );
}

function AppActions({ app }: { readonly app: AppDetail }) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const [uploading, setUploading] = useState(false);
  const deploy = useAction(
    useMutation(trpc.deployment.create.mutationOptions()),
    "The app wasn't deployed",
    ({ deploymentId }) => router.push(paths.deployment(deploymentId)),
  );
  const { url, lastDeployment } = app;
  const isUploaded = app.repositoryUrl === '' && app.image === null;
  return (
    <>
      {uploading ? <UploadDialog app={app} onClose={() => setUploading(false)} /> : null}
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
      ) : url === null ? null : (
        <a href={url} className={buttonClass('plain')}>
          Open
        </a>
      )}
      <Menu
        label="More actions"
        trigger={(trigger) => (
          <IconButton {...trigger} label="More actions">
            <Ellipsis size={18} aria-hidden="true" />
          </IconButton>
        )}
      >
        {url === null ? null : (
          <MenuItem icon={<ExternalLink size={15} />} onSelect={() => window.open(url, '_blank', 'noreferrer')}>
            Open app
          </MenuItem>
        )}
        {lastDeployment === null ? null : (
          <MenuItem icon={<History size={15} />} onSelect={() => router.push(paths.deployment(lastDeployment.id))}>
            Last deployment
          </MenuItem>
        )}
        {can('benchmark.write', app) ? (
          <MenuItem icon={<ChartSpline size={15} />} onSelect={() => router.push(paths.startBenchmark(app.slug))}>
            Run benchmark
          </MenuItem>
        ) : null}
        <MenuSeparator />
        <MenuItem icon={<Settings size={15} />} onSelect={() => router.push(paths.appSettings(app.slug))}>
          Settings
        </MenuItem>
      </Menu>
    </>
  );
}
