'use client';
// Settings of an app's previews: on or off, the environment that they use, and their limits.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { StatePill } from '@fairlead/ui/state-pill';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Outputs } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';

type Policy = Outputs['preview']['getPolicy'];

export function PreviewPolicyCard({ app, policy }: { readonly app: AppDetail; readonly policy: Policy }) {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const update = useFreshMutation(trpc.preview.updatePolicy.mutationOptions());
  const failure = update.error === null || wasCancelled(update.error) ? null : readFailure(update.error);
  const { isLinked, enabled, environmentId, environmentName, baseDomain, candidates } = policy;
  const readOnly = !can('environment.write', { projectId: app.projectId }) || (!isLinked && !enabled);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const chosen = candidates.find((each) => each.environmentId === form.get('environmentId'))?.environmentId;
    update.mutate(
      {
        appId: app.id,
        enabled: form.get('enabled') === 'on',
        ...(chosen === undefined ? {} : { environmentId: chosen }),
        previewsMax: Number(form.get('previewsMax')),
        daysMax: Number(form.get('daysMax')),
        drafts: form.get('drafts') === 'on',
      },
      {
        onSuccess: () => {
          toast({ title: 'Preview settings saved' });
          void queryClient.invalidateQueries(trpc.preview.pathFilter());
          void queryClient.invalidateQueries(trpc.app.pathFilter());
        },
      },
    );
  };
  return (
    <Card>
      <CardHeader
        title="Preview environments"
        action={<StatePill tone={enabled ? 'ok' : 'idle'}>{enabled ? 'On' : 'Off'}</StatePill>}
      />
      <form onSubmit={submit} noValidate className="border-line border-t">
        <fieldset disabled={readOnly} className="grid grid-cols-1 gap-x-4 gap-y-5 p-4 sm:grid-cols-2">
          {isLinked ? null : (
            <div className="sm:col-span-2">
              <WarnNote>Link the app to a repository of a GitHub App first: previews come from pull requests.</WarnNote>
            </div>
          )}
          {enabled && baseDomain === null ? (
            <div className="sm:col-span-2">
              <WarnNote>
                {`Previews need an address, but the server of ${environmentName ?? 'previews'} has no base domain. Set one on the page of the server.`}
              </WarnNote>
            </div>
          ) : null}
          <Checkbox
            className="sm:col-span-2"
            name="enabled"
            label="Deploy pull requests"
            hint="Commits of forks wait until a member approves them"
            defaultChecked={enabled}
          />
          <Field
            label="Settings and secrets from"
            hint="Previews get all variables and secrets of this environment, and no others"
            error={failure?.fields.environmentId}
            className="sm:col-span-2"
          >
            {(control) => (
              <Select {...control} name="environmentId" defaultValue={environmentId ?? ''}>
                {environmentId === null ? <option value="">New environment: Previews</option> : null}
                {candidates.map((each) => (
                  <option key={each.environmentId} value={each.environmentId}>
                    {each.environmentName}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Maximum previews" hint="Further pull requests wait" error={failure?.fields.previewsMax}>
            {(control) => (
              <Input
                {...control}
                type="number"
                name="previewsMax"
                min={1}
                max={100}
                defaultValue={policy.previewsMax}
              />
            )}
          </Field>
          <Field label="Maximum age in days" hint="Since the last push" error={failure?.fields.daysMax}>
            {(control) => (
              <Input {...control} type="number" name="daysMax" min={1} max={90} defaultValue={policy.daysMax} />
            )}
          </Field>
          <Checkbox
            className="sm:col-span-2"
            name="drafts"
            label="Also deploy draft pull requests"
            defaultChecked={policy.drafts}
          />
          {failure === null || Object.keys(failure.fields).length > 0 ? null : (
            <ErrorNote className="sm:col-span-2">{failure.message}</ErrorNote>
          )}
        </fieldset>
        {readOnly ? null : (
          <footer className="flex flex-wrap items-center justify-between gap-3 border-line border-t px-4 py-3">
            {environmentId === null ? (
              <span />
            ) : (
              <HoverLink
                href={paths.appVariables(app.slug, environmentId)}
                className="text-ink-soft text-sm hover:underline"
              >
                Variables of previews
              </HoverLink>
            )}
            <SubmitButton pending={update.isPending}>Save settings</SubmitButton>
          </footer>
        )}
      </form>
    </Card>
  );
}
