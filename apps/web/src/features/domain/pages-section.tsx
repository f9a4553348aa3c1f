'use client';
// Pages that the proxy serves itself: maintenance and errors.
import { Card, CardHeader } from '@fairlead/ui/card';
import { Checkbox, Field, Textarea } from '@fairlead/ui/input';
import { NumberField, TextField } from '../../common/form/fields.tsx';
import { Line, ListCard, useRows } from '../../common/form/list-card.tsx';
import type { Draft, PolicyDraft } from './draft.ts';

type Shown = NonNullable<PolicyDraft['maintenance']>;
type ErrorPage = PolicyDraft['errorPages'][number];

const HTML = 'text/html; charset=utf-8';
const MAINTENANCE: Shown = { contentType: HTML, body: '<h1>Back soon</h1>', retryAfterSeconds: 600 };
const FAILED: ErrorPage = {
  from: 500,
  to: 599,
  replaceApp: false,
  page: { contentType: HTML, body: '<h1>Something went wrong</h1>', retryAfterSeconds: 0 },
};

export function MaintenanceSection({ draft: { policy, set, problem } }: { readonly draft: Draft }) {
  const { maintenance } = policy;
  return (
    <Card>
      <CardHeader title="Maintenance" detail="Every request gets this page with status 503; the app keeps running" />
      <div className="flex flex-col gap-5 border-line border-t p-4">
        <Checkbox
          label="Maintenance mode"
          checked={maintenance !== null}
          onChange={(event) => set('maintenance', event.target.checked ? MAINTENANCE : null)}
        />
        {maintenance === null ? null : (
          <>
            <BodyField
              error={problem('maintenance.body')}
              page={maintenance}
              onPage={(page) => set('maintenance', page)}
            />
            <div className="grid grid-cols-1 gap-x-4 gap-y-5 sm:grid-cols-2">
              <TextField
                label="Content type"
                error={problem('maintenance.contentType')}
                value={maintenance.contentType}
                onValue={(contentType) => set('maintenance', { ...maintenance, contentType })}
              />
              <NumberField
                label="Retry-After"
                hint="Seconds, sent to browsers and search engines."
                zero="Not sent"
                error={problem('maintenance.retryAfterSeconds')}
                value={maintenance.retryAfterSeconds}
                onValue={(retryAfterSeconds) => set('maintenance', { ...maintenance, retryAfterSeconds })}
              />
            </div>
          </>
        )}
      </div>
    </Card>
  );
}

export function ErrorPagesSection({ draft: { policy, set, problem } }: { readonly draft: Draft }) {
  const { rows, add, remove, change } = useRows<ErrorPage>(policy.errorPages, (pages) => set('errorPages', pages));
  return (
    <ListCard
      title="Error pages"
      detail="The first page that matches the status is shown"
      add="Add page"
      empty="No error pages. The proxy answers with one line of text."
      error={undefined}
      onAdd={() => add(FAILED)}
    >
      {rows.map(({ key, item }, index) => (
        <Line key={key} remove={`Remove the page for ${item.from} to ${item.to}`} onRemove={() => remove(key)}>
          <NumberField
            label="From status"
            min={400}
            error={problem(`errorPages.${index}.from`)}
            value={item.from}
            onValue={(from) => change(key, { ...item, from })}
          />
          <NumberField
            label="To status"
            min={400}
            error={problem(`errorPages.${index}.to`)}
            value={item.to}
            onValue={(to) => change(key, { ...item, to })}
          />
          <BodyField
            className="sm:col-span-2"
            error={problem(`errorPages.${index}.page`)}
            page={item.page}
            onPage={(page) => change(key, { ...item, page })}
          />
          <Checkbox
            className="sm:col-span-2"
            label="Replace app errors"
            hint="Shows the page for the app's own error responses too."
            checked={item.replaceApp}
            onChange={(event) => change(key, { ...item, replaceApp: event.target.checked })}
          />
        </Line>
      ))}
    </ListCard>
  );
}

interface BodyFieldProps {
  readonly error: string | undefined;
  readonly className?: string;
  readonly page: Shown;
  readonly onPage: (page: Shown) => void;
}

function BodyField({ page, onPage, ...field }: BodyFieldProps) {
  return (
    <Field label="Page" {...field}>
      {(control) => (
        <Textarea
          {...control}
          mono
          rows={5}
          spellCheck={false}
          value={page.body}
          onChange={(event) => onPage({ ...page, body: event.target.value })}
        />
      )}
    </Field>
  );
}
