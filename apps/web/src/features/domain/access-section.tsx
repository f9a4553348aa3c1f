'use client';
// Access settings of a domain: passwords (basic authentication), forward authentication and client addresses.
import type { AppId } from '@fairlead/contract/ids';
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Checkbox, Field, Input } from '@fairlead/ui/input';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import { ChoiceField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Line, useRows } from '../../common/form/list-card.tsx';
import { RangesField } from '../../common/form/ranges-field.tsx';
import type { Draft, DraftUser } from './draft.ts';

const APPS_SHOWN = 100;
const FORWARD_AUTH: NonNullable<Draft['policy']['forwardAuth']> = {
  // Not chosen yet: a save is refused until it is.
  app: '' as AppId,
  path: '/',
  responseHeaders: [],
  timeoutMs: 5000,
  cacheSeconds: 0,
  cacheByCredentials: false,
};

export interface AccessSectionProps {
  readonly draft: Draft;
  /** Names of users that already have a password. */
  readonly known: readonly string[];
}

export function AccessSection({ draft, known }: AccessSectionProps) {
  const { policy, set, problem } = draft;
  return (
    <Card>
      <CardHeader title="Access" detail="Requests are blocked before they reach the app" />
      <div className="flex flex-col gap-5 border-line border-t p-4">
        <Checkbox
          label="Basic authentication"
          checked={policy.basicAuth !== null}
          onChange={(event) => set('basicAuth', event.target.checked ? { realm: '', users: [{ name: '' }] } : null)}
        />
        {policy.basicAuth === null ? null : <Users draft={draft} auth={policy.basicAuth} known={known} />}
        <Checkbox
          label="Forward authentication"
          hint="An app in this environment authorizes each request."
          checked={policy.forwardAuth !== null}
          onChange={(event) => set('forwardAuth', event.target.checked ? FORWARD_AUTH : null)}
        />
        {policy.forwardAuth === null ? null : <ForwardAuth draft={draft} auth={policy.forwardAuth} />}
        <div className="grid grid-cols-1 gap-x-4 gap-y-5 sm:grid-cols-2">
          <RangesField
            label="Allow only"
            hint="Addresses or ranges, one per line. Default: everyone"
            error={problem('allow')}
            value={policy.allow}
            onValue={(allow) => set('allow', allow)}
          />
          <RangesField
            label="Deny"
            hint="Takes precedence over the allow list."
            error={problem('deny')}
            value={policy.deny}
            onValue={(deny) => set('deny', deny)}
          />
        </div>
      </div>
    </Card>
  );
}

interface ForwardAuthProps {
  readonly draft: Draft;
  readonly auth: NonNullable<Draft['policy']['forwardAuth']>;
}

function ForwardAuth({ draft: { set, problem }, auth }: ForwardAuthProps) {
  const trpc = useTRPC();
  const apps = useQuery(trpc.app.list.queryOptions({ limit: APPS_SHOWN })).data?.items ?? [];
  const change = (changes: Partial<typeof auth>) => set('forwardAuth', { ...auth, ...changes });
  return (
    <div className="grid grid-cols-1 gap-x-4 gap-y-5 sm:grid-cols-2">
      <ChoiceField<string>
        label="App"
        hint="Needs a domain of its own on the same servers."
        error={
          auth.app === '' && problem('forwardAuth.app') !== undefined ? 'Choose an app.' : problem('forwardAuth.app')
        }
        value={auth.app}
        options={[{ value: '', label: 'Choose an app' }, ...apps.map(({ id, name }) => ({ value: id, label: name }))]}
        onValue={(app) => change({ app: app as AppId })}
      />
      <TextField
        label="Path"
        hint="A 2xx response lets the request pass."
        error={problem('forwardAuth.path')}
        value={auth.path}
        placeholder="/verify"
        onValue={(path) => change({ path })}
      />
      <HeaderNames
        error={problem('forwardAuth.responseHeaders')}
        value={auth.responseHeaders}
        onValue={(responseHeaders) => change({ responseHeaders })}
      />
      <NumberField
        label="Timeout"
        hint="Then the request gets 503."
        unit="seconds"
        error={problem('forwardAuth.timeoutMs')}
        value={auth.timeoutMs}
        onValue={(timeoutMs) => change({ timeoutMs })}
      />
      <NumberField
        label="Cache time"
        hint="Seconds for which an allowed request is not checked again."
        zero="Off"
        error={problem('forwardAuth.cacheSeconds')}
        value={auth.cacheSeconds}
        onValue={(cacheSeconds) => change({ cacheSeconds })}
      />
      <Checkbox
        label="Cache by credentials"
        hint="Cookie and Authorization alone decide, whatever the path."
        checked={auth.cacheByCredentials}
        onChange={(event) => change({ cacheByCredentials: event.target.checked })}
      />
    </div>
  );
}

interface HeaderNamesProps {
  readonly error: string | undefined;
  readonly value: readonly string[];
  readonly onValue: (names: string[]) => void;
}

function HeaderNames({ error, value, onValue }: HeaderNamesProps) {
  // Keeps the text as typed: the next name follows a space.
  const [text, setText] = useState(() => value.join(' '));
  return (
    <TextField
      label="Copied headers"
      hint="Response headers that the app gets with the request."
      error={error}
      value={text}
      placeholder="x-user x-groups"
      onValue={(typed) => {
        setText(typed);
        onValue(typed.split(/[\s,]+/).filter((name) => name !== ''));
      }}
    />
  );
}

interface UsersProps extends AccessSectionProps {
  readonly auth: NonNullable<Draft['policy']['basicAuth']>;
}

function Users({ draft: { set, problem }, auth, known }: UsersProps) {
  const { rows, add, remove, change } = useRows<DraftUser>(auth.users, (users) => set('basicAuth', { ...auth, users }));
  return (
    <div className="flex flex-col gap-4">
      {rows.map(({ key, item }, index) => (
        <Line key={key} remove={`Remove ${item.name || 'the user'}`} onRemove={() => remove(key)}>
          <TextField
            label="Name"
            error={problem(`basicAuth.users.${index}.name`)}
            value={item.name}
            placeholder="ann"
            onValue={(name) => change(key, { ...item, name })}
          />
          <Field
            label="Password"
            hint={known.includes(item.name) ? 'Leave blank to keep the password.' : 'At least 8 characters.'}
            error={problem(`basicAuth.users.${index}.password`)}
          >
            {(control) => (
              <Input
                {...control}
                type="password"
                autoComplete="new-password"
                value={item.password ?? ''}
                onChange={(event) => change(key, withPassword(item, event.target.value))}
              />
            )}
          </Field>
        </Line>
      ))}
      {rows.length === 0 ? <p className="text-bad-text text-sm">{problem('basicAuth.users')}</p> : null}
      <div className="grid grid-cols-1 items-end gap-x-4 gap-y-5 sm:grid-cols-2">
        <TextField
          label="Realm"
          error={problem('basicAuth.realm')}
          value={auth.realm}
          placeholder="Staging"
          onValue={(realm) => set('basicAuth', { ...auth, realm })}
        />
        <Button
          className="justify-self-start sm:justify-self-end"
          icon={<Plus size={15} aria-hidden="true" />}
          onClick={() => add({ name: '' })}
        >
          Add user
        </Button>
      </div>
    </div>
  );
}

/** Treats an empty field as unchanged, which keeps the stored password. */
function withPassword({ name }: DraftUser, password: string): DraftUser {
  return password === '' ? { name } : { name, password };
}
