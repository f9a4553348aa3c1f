'use client';
// Fields of each kind of source. Uncontrolled, except where the rest of the form depends on them.
import type { Template } from '@fairlead/core/template/rules';
import { Field, Input } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import dynamic from 'next/dynamic';
import { type ReactNode, useState } from 'react';
import type { Repository } from '../../api/types.ts';
import { FolderField } from './folder-field.tsx';
import type { NewAppErrors } from './form-errors.ts';
import { RepositoryPicker } from './repository-picker.tsx';
import type { SourceKind } from './source-choice.tsx';
import type { PickedSource } from './upload-folder.ts';

const TemplateField = dynamic(() => import('./template-field.tsx').then((module) => module.TemplateField), {
  ssr: false,
  loading: () => <Skeleton className="h-[440px]" />,
});

export interface SourceFieldsProps {
  readonly kind: SourceKind;
  readonly errors: NewAppErrors['fields'];
  /** True until the first choice of a source: only then may a field take focus. */
  readonly autoFocus: boolean;
  /** URL of a repository, or an image reference. */
  readonly address: string;
  readonly onAddress: (address: string) => void;
  /** Runs when the address is complete, so that its branches and its plan can be fetched. */
  readonly onLeave: (address: string | null) => void;
  readonly picked: PickedSource | null;
  readonly repository: Repository | null;
  readonly template: Template | null;
  /** Error of the folder, repository or template. */
  readonly choiceError: string | undefined;
  /** True if a server can run containers. */
  readonly hasContainers: boolean;
  readonly onPick: (picked: PickedSource) => void;
  readonly onRepository: (repository: Repository) => void;
  readonly onTemplate: (template: Template) => void;
}

export function SourceFields({ kind, errors, autoFocus, address, onAddress, onLeave, ...choice }: SourceFieldsProps) {
  const { choiceError, hasContainers } = choice;
  if (kind === 'folder') return <FolderField value={choice.picked} error={choiceError} onValue={choice.onPick} />;
  if (kind === 'github') {
    return <RepositoryPicker value={choice.repository} error={choiceError} onValue={choice.onRepository} />;
  }
  if (kind === 'template') {
    const { template, onTemplate } = choice;
    return <TemplateField value={template} error={choiceError} hasContainers={hasContainers} onValue={onTemplate} />;
  }
  if (kind === 'image') {
    return (
      <>
        <Field label="Image" hint="With a tag or a digest. It listens on the port in PORT." error={errors.address}>
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
        <Access title="Private registry" errors={errors}>
          A token with pull access is enough.
        </Access>
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
        error={errors.address}
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
        <Access title="Private repository" errors={errors}>
          A token with read access to this repository is enough.
        </Access>
      )}
    </>
  );
}

interface AccessProps {
  readonly title: string;
  readonly errors: NewAppErrors['fields'];
  /** Hint below the password. */
  readonly children: ReactNode;
}

function Access({ title, errors, children }: AccessProps) {
  const [isOpen, setOpen] = useState(false);
  const hasError = errors.username !== undefined || errors.password !== undefined;
  return (
    <details
      open={isOpen || hasError}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="rounded-control border border-line"
    >
      <summary className="cursor-pointer select-none rounded-control px-3 py-2 hover:bg-hover">{title}</summary>
      <div className="grid grid-cols-1 gap-5 border-line border-t p-3 sm:grid-cols-2">
        <Field label="User name" error={errors.username}>
          {(control) => <Input {...control} mono name="username" autoComplete="off" spellCheck={false} />}
        </Field>
        <Field label="Password or token" hint={children} error={errors.password}>
          {(control) => <Input {...control} name="password" type="password" autoComplete="new-password" />}
        </Field>
      </div>
    </details>
  );
}
