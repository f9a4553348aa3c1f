'use client';
// Fields of each kind of source. Uncontrolled, except where the rest of the form depends on them.
import { Field, Input } from '@fairlead/ui/input';
import type { ReactNode } from 'react';
import type { Failure } from '../../api/failure.ts';
import { FolderField } from './folder-field.tsx';
import type { SourceKind } from './source-choice.tsx';
import type { PickedSource } from './upload-folder.ts';

export interface SourceFieldsProps {
  readonly kind: SourceKind;
  readonly failure: Failure | null;
  /** True until the first choice of a source: only then may a field take focus. */
  readonly autoFocus: boolean;
  /** URL of a repository, or an image reference. */
  readonly address: string;
  readonly onAddress: (address: string) => void;
  /** Runs when the address is complete, so that its branches and its plan can be fetched. */
  readonly onLeave: (address: string | null) => void;
  readonly picked: PickedSource | null;
  readonly pickError: string | undefined;
  readonly onPick: (picked: PickedSource) => void;
}

export function SourceFields({ kind, failure, autoFocus, address, onAddress, onLeave, ...folder }: SourceFieldsProps) {
  if (kind === 'folder') {
    return <FolderField value={folder.picked} error={folder.pickError} onValue={folder.onPick} />;
  }
  if (kind === 'image') {
    return (
      <>
        <Field
          label="Image"
          hint="With a tag or a digest. It listens on the port in PORT."
          error={failure?.fields['settings.image'] ?? failure?.fields.image}
        >
          {(control) => (
            <Input
              {...control}
              mono
              required
              spellCheck={false}
              placeholder="registry.example/shop:2"
              value={address}
              onChange={(event) => onAddress(event.target.value)}
            />
          )}
        </Field>
        <Access title="Private registry">A token with pull access is enough.</Access>
      </>
    );
  }
  const isSsh = kind === 'ssh';
  const leave = ({ validity, value }: HTMLInputElement) =>
    onLeave(!isSsh && validity.valid && value !== '' ? value.trim() : null);
  return (
    <>
      <Field
        label="Git repository"
        hint={
          isSsh
            ? 'Fairlead creates a key for this app. Add its public key at the host before the first deployment.'
            : 'HTTPS clone URL, without a password in it.'
        }
        error={failure?.fields.repositoryUrl}
      >
        {(control) => (
          <Input
            {...control}
            mono
            autoFocus={autoFocus}
            required
            spellCheck={false}
            type={isSsh ? 'text' : 'url'}
            placeholder={isSsh ? 'git@github.com:you/your-app.git' : 'https://github.com/you/your-app.git'}
            value={address}
            onChange={(event) => {
              onAddress(event.target.value);
              // A pasted address is complete at once.
              if (Reflect.get(event.nativeEvent, 'inputType') === 'insertFromPaste') leave(event.target);
            }}
            onBlur={(event) => leave(event.target)}
          />
        )}
      </Field>
      {isSsh ? null : (
        <Access title="Private repository">A token with read access to this repository is enough.</Access>
      )}
    </>
  );
}

function Access({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <details className="rounded-control border border-line">
      <summary className="cursor-pointer select-none rounded-control px-3 py-2 hover:bg-hover">{title}</summary>
      <div className="grid grid-cols-1 gap-5 border-line border-t p-3 sm:grid-cols-2">
        <Field label="User name">
          {(control) => <Input {...control} mono name="username" autoComplete="off" spellCheck={false} />}
        </Field>
        <Field label="Password or token" hint={children}>
          {(control) => <Input {...control} name="password" type="password" autoComplete="new-password" />}
        </Field>
      </div>
    </details>
  );
}
