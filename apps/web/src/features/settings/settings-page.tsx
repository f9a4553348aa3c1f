'use client';
// Settings page: the reader's preferences, and facts about the organization.
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { PageHeader } from '@fairlead/ui/page-header';
import { Segmented } from '@fairlead/ui/tabs';
import { Setting } from '../../common/form/setting.tsx';
import { useSignOut } from '../../common/identity/use-sign-out.ts';
import { useMe } from '../../common/organization/me.tsx';
import { roleLabel } from '../../common/organization/role-labels.ts';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Page } from '../../common/page/page.tsx';
import { useTheme } from '../../common/theme/use-theme.ts';

export function SettingsPage() {
  const { user, organization, can, isOperator, paths } = useMe();
  const signOut = useSignOut();
  return (
    <Page>
      <PageHeader title="Settings" />
      <div className="flex flex-col gap-6">
        <Card>
          <CardHeader title="Appearance" />
          <Setting title="Theme" detail="System, light or dark. Stored in this browser.">
            <ThemeChoice />
          </Setting>
        </Card>
        <Card>
          <CardHeader title="Account" />
          <Setting title={user.name} detail={user.email}>
            <HoverLink href="/account" className={buttonClass()}>
              Manage your account
            </HoverLink>
            <Button onClick={() => void signOut()}>Sign out</Button>
          </Setting>
        </Card>
        {can('secret.read') ? (
          <Card>
            <CardHeader title="Secrets" />
            <Setting title="Shared groups" detail="Values that several apps of a project share.">
              <HoverLink href={paths.sharedSecrets} className={buttonClass()}>
                Open
              </HoverLink>
            </Setting>
          </Card>
        ) : null}
        <Card>
          <CardHeader
            title="Organization"
            action={
              <HoverLink href={paths.organizationSettings} className={buttonClass('plain', 'small')}>
                Organization settings
              </HoverLink>
            }
          />
          <Facts
            className="border-line border-t px-4 py-4 sm:grid-cols-2"
            items={[
              { term: 'Name', value: organization.name },
              { term: 'URL slug', value: <span className="font-mono text-sm">/{organization.slug}</span> },
              { term: 'Your role', value: roleName(organization.roleName) },
              {
                term: 'ID',
                value: (
                  <span className="flex items-center gap-1">
                    <code className="truncate font-mono text-sm">{organization.id}</code>
                    <CopyButton value={organization.id} label="Copy ID" className="-my-1.5" />
                  </span>
                ),
              },
            ]}
          />
          <Setting title="Environments" detail="Stages such as production and staging, and their protection.">
            <HoverLink href={paths.environments} className={buttonClass()}>
              Open environments
            </HoverLink>
          </Setting>
          {can('app.write') ? (
            <Setting title="Git" detail="GitHub accounts with repositories that you deploy.">
              <HoverLink href={paths.git} className={buttonClass()}>
                Open Git settings
              </HoverLink>
            </Setting>
          ) : null}
          <Setting title="DNS providers" detail="DNS zones that Fairlead may change to get wildcard certificates.">
            <HoverLink href={paths.dnsProviders} className={buttonClass()}>
              Open DNS providers
            </HoverLink>
          </Setting>
          {can('token.read') ? (
            <Setting title="API tokens" detail="For scripts that act as you, and for service accounts.">
              <HoverLink href={paths.tokens} className={buttonClass()}>
                Open tokens
              </HoverLink>
            </Setting>
          ) : null}
          {can('audit.read') ? (
            <Setting title="Audit log" detail="Every change with its author, in a log that can't be altered.">
              <HoverLink href={paths.audit} className={buttonClass()}>
                Open audit log
              </HoverLink>
            </Setting>
          ) : null}
        </Card>
        {isOperator ? (
          <Card>
            <CardHeader title="Control plane" />
            <Setting
              title="Status"
              detail="Backups, storage, jobs, email, addresses and versions of this control plane."
            >
              <HoverLink href={paths.controlPlane} className={buttonClass()}>
                Open control plane
              </HoverLink>
            </Setting>
          </Card>
        ) : null}
      </div>
    </Page>
  );
}

/** Returns a built-in role's label; a custom role keeps its name. */
function roleName(role: string): string {
  return roleLabel(role, [{ id: role, name: role }]).label;
}

const THEMES = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

function ThemeChoice() {
  const { theme, setTheme } = useTheme();
  return <Segmented label="Theme" value={theme} options={THEMES} onValueChange={setTheme} />;
}
