'use client';
// Picker of a repository that a GitHub App reaches, with a search, and with the folders that may be apps.
import { buttonClass } from '@fairlead/ui/button';
import { cn } from '@fairlead/ui/lib/class-names';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SearchInput } from '@fairlead/ui/search-input';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Lock } from 'lucide-react';
import { useDeferredValue, useId, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs, Repository } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

export interface RepositoryPickerProps {
  readonly value: Repository | null;
  readonly error: string | undefined;
  readonly onValue: (repository: Repository) => void;
}

export function RepositoryPicker({ value, error, onValue }: RepositoryPickerProps) {
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search.trim());
  const repositories = useQuery({
    ...useTRPC().github.listRepositories.queryOptions(wanted === '' ? {} : { search: wanted }),
    placeholderData: keepPreviousData,
  });
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">Repository</legend>
      <QueryView query={repositories} skeleton={<SkeletonRows rows={3} />}>
        {(list) =>
          list.installations === 0 ? (
            <Unconnected />
          ) : (
            <>
              <SearchInput label="Search repositories" value={search} onValueChange={setSearch} />
              <RepositoryRows list={list} value={value} onValue={onValue} />
            </>
          )
        }
      </QueryView>
      {error === undefined ? null : (
        <p role="alert" className="text-bad-text text-sm">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function Unconnected() {
  const { can, paths } = useMe();
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-control border border-line bg-sunken p-3">
      <p className="min-w-0 flex-1 basis-60 text-pretty text-ink-soft">
        No GitHub account is connected.{' '}
        {can('organization.write')
          ? 'Connect one to pick its repositories here.'
          : 'An owner or admin connects it under Settings → Git.'}
      </p>
      <HoverLink href={paths.git} className={buttonClass()}>
        Open Git settings
      </HoverLink>
    </div>
  );
}

interface RepositoryRowsProps {
  readonly list: Outputs['github']['listRepositories'];
  readonly value: Repository | null;
  readonly onValue: (repository: Repository) => void;
}

function RepositoryRows({ list, value, onValue }: RepositoryRowsProps) {
  const { paths } = useMe();
  const name = useId();
  const hint = (
    <p className="text-ink-faint text-sm">
      Missing one? Choose repositories in{' '}
      <HoverLink href={paths.git} className="underline">
        Git settings
      </HoverLink>
      , then refresh there.
    </p>
  );
  if (list.items.length === 0) return <p className="text-ink-soft">No repository has this name. {hint}</p>;
  return (
    <>
      <div className="max-h-64 overflow-y-auto rounded-control border border-line">
        {list.items.map((repository, index) => (
          <label
            key={`${repository.installationId}/${repository.repositoryId}`}
            className={cn(
              'relative flex min-h-11 cursor-pointer items-center gap-3 px-3 py-2 hover:bg-hover',
              'has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-accent',
              index === 0 ? '' : 'border-line border-t',
              isSame(value, repository) ? 'bg-sunken' : '',
            )}
          >
            <input
              type="radio"
              name={name}
              checked={isSame(value, repository)}
              onChange={() => onValue(repository)}
              className="shrink-0 accent-accent outline-none"
            />
            <span className="min-w-0 flex-1 truncate font-mono text-sm">{repository.fullName}</span>
            {repository.isPrivate ? <Lock size={14} aria-label="Private" className="shrink-0 text-ink-faint" /> : null}
            {repository.pushedAt === null ? null : (
              <RelativeTime at={repository.pushedAt} className="shrink-0 text-ink-faint text-sm" />
            )}
          </label>
        ))}
      </div>
      {list.more ? <p className="text-ink-faint text-sm">More repositories match. Search for one by name.</p> : hint}
    </>
  );
}

function isSame(value: Repository | null, { installationId, repositoryId }: Repository): boolean {
  return value?.installationId === installationId && value.repositoryId === repositoryId;
}

export interface AppFoldersProps {
  readonly folders: readonly string[];
  readonly value: string;
  readonly onValue: (folder: string) => void;
}

/** Suggests the folders of a repository with several apps. */
export function AppFolders({ folders, value, onValue }: AppFoldersProps) {
  if (folders.length < 2) return null;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="text-ink-soft text-sm">Apps in this repository:</span>
      {folders.map((folder) => (
        <button
          key={folder}
          type="button"
          aria-pressed={folder === value}
          onClick={() => onValue(folder)}
          className={cn(buttonClass('plain', 'small'), 'font-mono', folder === value ? 'border-accent bg-sunken' : '')}
        >
          {folder === '' ? '/' : folder}
        </button>
      ))}
    </div>
  );
}
