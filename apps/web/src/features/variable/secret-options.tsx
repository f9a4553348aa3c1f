'use client';
// Fields of a secret besides its name and value: delivery, expiry, sealing and builds.
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import type { SecretView } from '../../api/types.ts';

export interface SecretDraft {
  readonly delivery: SecretView['delivery'];
  readonly sealed: boolean;
  readonly atBuild: boolean;
  /** Day as the browser writes it; empty: never. */
  readonly expires: string;
}

export const newSecretDraft: SecretDraft = { delivery: 'environment', sealed: true, atBuild: false, expires: '' };

export function draftOf({ delivery, sealed, atBuild, expiresAt }: SecretView): SecretDraft {
  return { delivery, sealed, atBuild, expires: expiresAt?.toISOString().slice(0, 10) ?? '' };
}

/** Returns the fields of the API. */
export function fieldsOf({ expires, ...fields }: SecretDraft) {
  return { ...fields, expiresAt: expires === '' ? null : new Date(`${expires}T00:00:00Z`) };
}

export interface SecretOptionsProps {
  readonly draft: SecretDraft;
  readonly onDraft: (draft: SecretDraft) => void;
}

export function SecretOptions({ draft, onDraft }: SecretOptionsProps) {
  const { delivery, sealed, atBuild, expires } = draft;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Delivered as">
          {(control) => (
            <Select
              {...control}
              value={delivery}
              onChange={(event) =>
                onDraft({ ...draft, delivery: event.target.value === 'file' ? 'file' : 'environment' })
              }
            >
              <option value="environment">Environment variable</option>
              <option value="file">File in $FAIRLEAD_SECRETS</option>
            </Select>
          )}
        </Field>
        <Field label="Expires on" hint="You are reminded two weeks before.">
          {(control) => (
            <Input
              {...control}
              type="date"
              value={expires}
              onChange={(event) => onDraft({ ...draft, expires: event.target.value })}
            />
          )}
        </Field>
      </div>
      <Checkbox
        label="Sealed: this value can't be viewed again"
        checked={sealed}
        onChange={(event) => onDraft({ ...draft, sealed: event.target.checked })}
      />
      <Checkbox
        label="Also at build time"
        hint="Build commands get it as a variable. Dockerfile builds don't, because it would stay readable in the image."
        checked={atBuild}
        onChange={(event) => onDraft({ ...draft, atBuild: event.target.checked })}
      />
    </>
  );
}
