'use client';
// Adds an environment variable, plain or secret, or edits a plain one. A plain one that becomes a secret stops being
// plain in the same step.
import { variableNameProblem, variableValueProblem } from '@fairlead/core/config/rules';
import { nameProblem, valueProblem } from '@fairlead/core/secret/rules';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input, Select, Textarea } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { Segmented } from '@fairlead/ui/tabs';
import { WarnNote } from '@fairlead/ui/warn-note';
import { type FormEvent, useId, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import type { PlainVariable } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { type Kind, kindOf } from './env-lines.ts';
import { SCOPES } from './scopes.ts';
import { fieldsOf, newSecretDraft, SecretOptions } from './secret-options.tsx';
import {
  type PlacementOwner,
  useRefetchVariables,
  useSaveVariables,
  type VariableChange,
} from './use-variable-calls.ts';

export interface VariableDialogProps {
  readonly placement: PlacementOwner;
  readonly plainNames: ReadonlySet<string>;
  readonly secretNames: ReadonlySet<string>;
  /** Plain variable to edit; null for a new one. */
  readonly variable: PlainVariable | null;
  /** Name of a new variable if it is known. */
  readonly name?: string;
  /** Kind to begin with. Default: that of the variable, or by its name. */
  readonly kind?: Kind;
  readonly onClose: () => void;
}

const KINDS = [
  { value: 'plain', label: 'Plain' },
  { value: 'secret', label: 'Secret' },
] as const;

export function VariableDialog(props: VariableDialogProps) {
  const { placement, plainNames, secretNames, variable, name: knownName = variable?.name ?? '', onClose } = props;
  const { can } = useMe();
  const formId = useId();
  const refetch = useRefetchVariables();
  const save = useSaveVariables(placement, plainNames);
  const [name, setName] = useState(knownName);
  const [value, setValue] = useState(variable?.value ?? '');
  const [scope, setScope] = useState(variable?.scope ?? 'both');
  const [secret, setSecret] = useState(newSecretDraft);
  const [chosen, setChosen] = useState<Kind | null>(props.kind ?? (variable === null ? null : 'plain'));
  const mayChoose = can('app.write') && can('secret.write');
  const kind = mayChoose ? (chosen ?? kindOf(name, value)) : can('app.write') ? 'plain' : 'secret';
  const nameError = name === '' ? null : problemOf(name, { kind, isNew: variable === null, plainNames, secretNames });
  const valueError = kind === 'plain' ? variableValueProblem(value) : valueProblem(value);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const change: VariableChange =
      kind === 'plain' ? { plain: [{ name, value, scope }] } : { secrets: [{ name, value, ...fieldsOf(secret) }] };
    save.mutate(change, {
      onSuccess: () => {
        refetch();
        onClose();
      },
    });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={titleOf(variable, knownName)}
      detail="Takes effect with the next deployment."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton
            form={formId}
            variant="accent"
            pending={save.isPending}
            disabled={name === '' || nameError !== null || valueError !== null}
          >
            Save
          </SubmitButton>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-4">
        {knownName === '' ? (
          <Field label="Name" error={nameError ?? undefined} hint="Letters, digits and _">
            {(control) => (
              <Input
                {...control}
                mono
                autoFocus
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
                placeholder="LOG_LEVEL"
                value={name}
                onChange={(event) => setName(event.target.value.trim())}
              />
            )}
          </Field>
        ) : null}
        <Field
          label="Value"
          error={valueError ?? undefined}
          hint={kind === 'secret' ? `Refer to others with $\{{ NAME }} or $\{{ group.NAME }}.` : undefined}
        >
          {(control) => (
            <Textarea
              {...control}
              mono
              rows={3}
              autoFocus={knownName !== ''}
              autoComplete="off"
              spellCheck={false}
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
        {mayChoose ? (
          <div className="flex flex-col items-start gap-1.5">
            <span className="font-medium" aria-hidden="true">
              Kind
            </span>
            <Segmented label="Kind" value={kind} options={KINDS} onValueChange={setChosen} />
            <p className="text-ink-faint text-sm" aria-live="polite">
              {kind === 'plain'
                ? 'Everyone with access to the app can see the value.'
                : 'Encrypted. Only people with the permission can see an unsealed value.'}
            </p>
          </div>
        ) : null}
        {kind === 'plain' ? (
          <Field label="Scope">
            {(control) => (
              <Select
                {...control}
                value={scope}
                onChange={({ target }) => setScope(SCOPES.find((each) => each.value === target.value)?.value ?? scope)}
              >
                {SCOPES.map((each) => (
                  <option key={each.value} value={each.value}>
                    {each.label}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        ) : (
          <SecretOptions draft={secret} onDraft={setSecret} />
        )}
        {variable !== null && kind === 'secret' ? (
          <>
            {nameError === null ? null : <ErrorNote>{nameError}</ErrorNote>}
            <WarnNote>
              The plain value is deleted from the settings. Earlier versions, releases and the audit log still contain
              it, so replace the value if it must stay secret.
            </WarnNote>
          </>
        ) : null}
        {save.error === null ? null : <ErrorNote>{readFailure(save.error).message}</ErrorNote>}
      </form>
    </Dialog>
  );
}

interface NameRules extends Pick<VariableDialogProps, 'plainNames' | 'secretNames'> {
  readonly kind: Kind;
  readonly isNew: boolean;
}

function problemOf(name: string, { kind, isNew, plainNames, secretNames }: NameRules): string | null {
  if (isNew && (plainNames.has(name) || secretNames.has(name))) return `${name} exists already.`;
  return kind === 'plain' ? variableNameProblem(name) : nameProblem(name);
}

function titleOf(variable: PlainVariable | null, knownName: string): string {
  if (variable !== null) return `Change ${variable.name}`;
  return knownName === '' ? 'Add variable' : `Add ${knownName}`;
}
