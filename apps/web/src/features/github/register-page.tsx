'use client';
// Form that registers a GitHub App. It asks the API for a manifest and posts it to GitHub, which asks its owner.
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select } from '@fairlead/ui/input';
import { PageHeader } from '@fairlead/ui/page-header';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';

export function RegisterGithubPage() {
  const { paths } = useMe();
  const start = useFreshMutation(useTRPC().github.startRegistration.mutationOptions());
  const [place, setPlace] = useState<'github.com' | 'enterprise'>('github.com');
  const [account, setAccount] = useState<'organization' | 'personal'>('organization');
  const failure = start.error === null || wasCancelled(start.error) ? null : readFailure(start.error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    start.mutate(
      { ...(place === 'enterprise' ? { baseUrl: text('baseUrl') } : {}), owner: text('owner') },
      { onSuccess: postTo },
    );
  };
  return (
    <Page>
      <PageHeader
        breadcrumb={
          <Crumbs
            items={[
              { title: 'Settings', href: paths.settings },
              { title: 'Git', href: paths.git },
            ]}
          />
        }
        title="Connect GitHub"
        detail="GitHub creates an app that belongs to your account. You choose its repositories in the next step."
      />
      <Card>
        <form onSubmit={submit} noValidate className="flex flex-col gap-5 p-5">
          <div className="grid grid-cols-1 gap-x-4 gap-y-5 sm:grid-cols-2">
            <Field label="Server">
              {(control) => (
                <Select
                  {...control}
                  value={place}
                  onChange={(event) => setPlace(event.target.value === 'enterprise' ? 'enterprise' : 'github.com')}
                >
                  <option value="github.com">github.com</option>
                  <option value="enterprise">GitHub Enterprise Server</option>
                </Select>
              )}
            </Field>
            {place === 'enterprise' ? (
              <Field label="Server URL" error={failure?.fields.baseUrl}>
                {(control) => (
                  <Input
                    {...control}
                    mono
                    name="baseUrl"
                    type="url"
                    required
                    placeholder="https://github.example.com"
                  />
                )}
              </Field>
            ) : null}
            <Field label="Repositories of" className={place === 'enterprise' ? '' : 'sm:col-start-1'}>
              {(control) => (
                <Select
                  {...control}
                  value={account}
                  onChange={(event) => setAccount(event.target.value === 'personal' ? 'personal' : 'organization')}
                >
                  <option value="organization">An organization</option>
                  <option value="personal">My own account</option>
                </Select>
              )}
            </Field>
            {account === 'organization' ? (
              <Field
                label="Organization"
                hint="Its name in URLs on GitHub. You must be one of its owners."
                error={failure?.fields.owner}
              >
                {(control) => <Input {...control} mono name="owner" required spellCheck={false} placeholder="acme" />}
              </Field>
            ) : null}
          </div>
          <div className="text-pretty text-ink-soft">
            <p>The app may do only this:</p>
            <ul className="mt-1 list-disc pl-5">
              <li>read the code of the repositories that you choose</li>
              <li>report commit statuses, checks and deployments</li>
              <li>comment on pull requests</li>
            </ul>
          </div>
          {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
          <div className="flex items-center justify-end gap-2">
            <HoverLink href={paths.git} className={buttonClass('ghost')}>
              Cancel
            </HoverLink>
            <SubmitButton variant="accent" pending={start.isPending || start.isSuccess}>
              Continue on GitHub
            </SubmitButton>
          </div>
        </form>
      </Card>
    </Page>
  );
}

/** GitHub takes a manifest by a form only. */
function postTo({ action, manifest }: Outputs['github']['startRegistration']): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = action;
  const field = document.createElement('input');
  field.type = 'hidden';
  field.name = 'manifest';
  field.value = manifest;
  form.append(field);
  document.body.append(form);
  form.submit();
}
