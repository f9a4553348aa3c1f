'use client';
// Choice of an app's source as tiles. A source that no server supports is shown with the reason.
import { Box, FolderUp, GitBranch, GitPullRequest, KeyRound, LayoutTemplate, type LucideIcon } from 'lucide-react';
import { useId } from 'react';
import { ChoiceTile } from './choice-tile.tsx';

export type SourceKind = 'github' | 'https' | 'ssh' | 'image' | 'folder' | 'template';

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
  { kind: 'template', title: 'Template', detail: 'A small app to start from', Icon: LayoutTemplate },
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
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        {TILES.map(({ kind, title, detail, Icon }) => (
          <ChoiceTile
            key={kind}
            name={name}
            title={title}
            icon={<Icon size={15} aria-hidden="true" className="shrink-0" />}
            checked={kind === value}
            disabled={refused[kind] !== undefined}
            onCheck={() => onValue(kind)}
          >
            {refused[kind] ?? detail}
          </ChoiceTile>
        ))}
      </div>
    </fieldset>
  );
}
