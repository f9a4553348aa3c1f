'use client';
// Search over the fields of all sections of an app's settings. A choice opens the section and focuses the field.
import { cn } from '@fairlead/ui/lib/class-names';
import { SearchInput } from '@fairlead/ui/search-input';
import { usePathname } from 'next/navigation';
import { type FormEvent, type KeyboardEvent, useId, useState } from 'react';
import type { AppDetail } from '../../api/types.ts';
import { fieldAnchor, type SettingField, searchFields, settingsSections } from '../../common/app/setting-fields.ts';
import { useGuardedPush } from '../../common/form/unsaved-changes.tsx';
import { useMe } from '../../common/organization/me.tsx';

export interface SettingsSearchProps {
  readonly slug: string;
  readonly linkEnvironmentId: AppDetail['environmentId'] | undefined;
  /** Focuses a field of the open section. */
  readonly onFieldHere: (label: string) => void;
}

export function SettingsSearch({ slug, linkEnvironmentId, onFieldHere }: SettingsSearchProps) {
  const { paths } = useMe();
  const push = useGuardedPush();
  const pathname = usePathname();
  const listId = useId();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const found = searchFields(text);
  const isOpen = text.trim() !== '';
  const optionId = (at: number) => `${listId}-${at}`;

  const choose = ({ section, label }: SettingField) => {
    setText('');
    const toSection = paths.appSettingsIn(section);
    if (pathname === toSection(slug)) onFieldHere(label);
    else push(`${toSection(slug, linkEnvironmentId)}#${fieldAnchor(label)}`);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const field = found[active];
    if (field !== undefined) choose(field);
  };
  const walk = (event: KeyboardEvent) => {
    if ((event.key !== 'ArrowDown' && event.key !== 'ArrowUp') || found.length === 0) return;
    event.preventDefault();
    setActive((active + (event.key === 'ArrowDown' ? 1 : -1) + found.length) % found.length);
  };

  return (
    <search className="relative block">
      <form onSubmit={submit} onKeyDown={walk}>
        <SearchInput
          label="Search settings"
          value={text}
          onValueChange={(next) => {
            setText(next);
            setActive(0);
          }}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={listId}
          aria-activedescendant={isOpen && found.length > 0 ? optionId(active) : undefined}
        />
        <div
          id={listId}
          role="listbox"
          aria-label="Settings"
          className={cn(
            'absolute inset-x-0 top-10 z-20 min-w-64 rounded-card border border-line bg-raised p-1 shadow-float',
            !isOpen && 'hidden',
          )}
        >
          {found.map((field, at) => (
            <div
              key={`${field.section} ${field.label}`}
              id={optionId(at)}
              role="option"
              tabIndex={-1}
              aria-selected={at === active}
              // The press must not take the focus from the field that the choice gives it to.
              onPointerDown={(event) => event.preventDefault()}
              onPointerMove={() => setActive(at)}
              onClick={() => choose(field)}
              onKeyDown={() => undefined}
              className={cn('cursor-pointer rounded-control px-2.5 py-1.5', at === active && 'bg-hover')}
            >
              <span className="block truncate">{field.label}</span>
              <span className="block truncate text-ink-faint text-sm">{titleOf(field)}</span>
            </div>
          ))}
          {isOpen && found.length === 0 ? (
            <p className="px-2.5 py-2 text-ink-faint text-sm">No setting matches.</p>
          ) : null}
        </div>
      </form>
    </search>
  );
}

function titleOf({ section }: SettingField): string {
  return settingsSections.find(({ id }) => id === section)?.title ?? '';
}
