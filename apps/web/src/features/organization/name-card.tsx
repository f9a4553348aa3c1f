'use client';
// Name and slug of the organization. After a new slug, links to the old one no longer work.
import { Card, CardHeader } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { useToast } from '@fairlead/ui/toast';
import { useRouter } from 'next/navigation';
import type { FormEvent } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { pathsOf } from '../../common/organization/paths.ts';

export function NameCard({ readOnly }: { readonly readOnly: boolean }) {
  const { organization } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const update = useFreshMutation(trpc.organization.update.mutationOptions());
  const failure = update.error === null ? null : readFailure(update.error);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    update.mutate(
      { name: text('name'), slug: text('slug') },
      {
        onSuccess: ({ slug }) => {
          toast({ title: 'Organization saved' });
          // A new slug needs another client and cache: reload the page.
          if (slug !== organization.slug) window.location.assign(pathsOf(slug).organizationSettings);
          else router.refresh();
        },
      },
    );
  };
  return (
    <Card id="name" className="scroll-mt-4">
      <CardHeader title="Name" />
      <form onSubmit={submit} noValidate className="flex flex-col gap-4 border-line border-t px-4 py-4">
        <Field label="Name" error={failure?.fields.name}>
          {(control) => <Input {...control} name="name" defaultValue={organization.name} disabled={readOnly} />}
        </Field>
        <Field
          label="URL slug"
          hint="Lower-case letters, digits and dashes. Links to the old address stop working."
          error={failure?.fields.slug}
        >
          {(control) => (
            <Input
              {...control}
              mono
              name="slug"
              spellCheck={false}
              defaultValue={organization.slug}
              disabled={readOnly}
            />
          )}
        </Field>
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
        {readOnly ? null : (
          <div className="flex justify-end">
            <SubmitButton pending={update.isPending}>Save</SubmitButton>
          </div>
        )}
      </form>
    </Card>
  );
}
