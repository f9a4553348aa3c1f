'use client';
// Access settings of a domain: passwords (basic authentication) and client addresses.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { Checkbox, Field, Input } from '@fairlead/ui/input';
import { Plus } from 'lucide-react';
import { TextField } from '../../common/form/fields.tsx';
import { Line, useRows } from '../../common/form/list-card.tsx';
import { RangesField } from '../../common/form/ranges-field.tsx';
import type { Draft, DraftUser } from './draft.ts';

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
