'use client';
// Choice of an app's source as tiles. A source that no server supports is shown with the reason.
import { cn } from '@fairlead/ui/lib/class-names';
import { Box, FolderUp, GitBranch, GitPullRequest, KeyRound, type LucideIcon } from 'lucide-react';
import { useId } from 'react';

export type SourceKind = 'github' | 'https' | 'ssh' | 'image' | 'folder';

const TILES: readonly {
  readonly kind: SourceKind;
  readonly title: string;
  readonly detail: string;
  readonly Icon: LucideIcon;
}[] = [
  { kind: 'github', title: 'GitHub', detail: 'A repository from a list, also a private one', Icon: GitPullRequest },
  {
    kind: 'https',
    title: 'Git over HTTPS',
    detail: 'A public repository, or a private one with a token',
    Icon: GitBranch,
  },
  { kind: 'ssh', title: 'Git over SSH', detail: 'With a deploy key for this app', Icon: KeyRound },
  { kind: 'image', title: 'Image', detail: 'From a container registry', Icon: Box },
  { kind: 'folder', title: 'Folder', detail: 'Uploaded from this computer', Icon: FolderUp },
];

export interface SourceChoiceProps {
  readonly value: SourceKind;
  /** Reasons why a source can't be selected. */
  readonly refused: Partial<Record<SourceKind, string>>;
  readonly onValue: (kind: SourceKind) => void;
}

export function SourceChoice({ value, refused, onValue }: SourceChoiceProps) {
  const name = useId();
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium">Source</legend>
      <div className="grid grid-cols-2 gap-2 max-sm:first:*:col-span-2 sm:grid-cols-5">
        {TILES.map(({ kind, title, detail, Icon }) => (
          <Tile
            key={kind}
            name={name}
            title={title}
            detail={refused[kind] ?? detail}
            Icon={Icon}
            checked={kind === value}
            disabled={refused[kind] !== undefined}
            onCheck={() => onValue(kind)}
          />
        ))}
      </div>
    </fieldset>
  );
}

interface TileProps {
  readonly name: string;
  readonly title: string;
  readonly detail: string;
  readonly Icon: LucideIcon;
  readonly checked: boolean;
  readonly disabled: boolean;
  readonly onCheck: () => void;
}

function Tile({ name, title, detail, Icon, checked, disabled, onCheck }: TileProps) {
  const detailId = useId();
  return (
    <label
      className={cn(
        'relative flex flex-col gap-1 rounded-card border p-3 transition-colors duration-120',
        'has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
        checked ? 'border-accent bg-sunken' : 'border-line',
        disabled ? 'cursor-not-allowed' : 'cursor-pointer hover:bg-hover',
      )}
    >
      <input
        type="radio"
        name={name}
        aria-label={title}
        aria-describedby={detailId}
        checked={checked}
        disabled={disabled}
        onChange={onCheck}
        className="absolute inset-0 cursor-[inherit] appearance-none rounded-card outline-none"
      />
      <span className={cn('flex items-center gap-2 font-medium', disabled && 'text-ink-faint')}>
        <Icon size={15} aria-hidden="true" className="shrink-0" />
        {title}
      </span>
      <span id={detailId} className="text-pretty text-ink-faint text-sm">
        {detail}
      </span>
    </label>
  );
}
