// Branch of an app and the commit of its live release, linked to the git host where its addresses are known.
import { shortHash } from '@fairlead/ui/lib/format';
import { GitBranch, GitCommitHorizontal } from 'lucide-react';
import type { ReactNode } from 'react';
import type { AppDetail } from '../../api/types.ts';
import { branchUrl, commitUrl } from '../../common/deployment/source-links.ts';

export function LiveCommit({ app }: { readonly app: AppDetail }) {
  const { repositoryUrl, branch, liveRelease } = app;
  if (repositoryUrl === '') return null;
  return (
    <>
      <SourceLink href={branchUrl(repositoryUrl, branch)} label={`Branch ${branch || 'default'}`}>
        <GitBranch size={14} aria-hidden="true" className="shrink-0 text-ink-faint" />
        <span className="truncate">{branch || 'Default branch'}</span>
      </SourceLink>
      {liveRelease === null ? null : (
        <SourceLink
          href={commitUrl(repositoryUrl, liveRelease.commitHash)}
          label={`Commit ${shortHash(liveRelease.commitHash)} ${liveRelease.commitSubject}`}
        >
          <GitCommitHorizontal size={14} aria-hidden="true" className="shrink-0 text-ink-faint" />
          <code className="shrink-0 font-mono text-ink-faint text-xs">{shortHash(liveRelease.commitHash)}</code>
          <span className="truncate">{liveRelease.commitSubject}</span>
        </SourceLink>
      )}
    </>
  );
}

interface SourceLinkProps {
  readonly href: string | null;
  readonly label: string;
  readonly children: ReactNode;
}

function SourceLink({ href, label, children }: SourceLinkProps) {
  const className = 'inline-flex min-w-0 max-w-full items-center gap-1.5 text-ink-soft text-sm';
  if (href === null) return <span className={className}>{children}</span>;
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer"
      aria-label={`${label} (opens in a new tab)`}
      className={`${className} rounded-mark hover:text-ink hover:underline`}
    >
      {children}
    </a>
  );
}
