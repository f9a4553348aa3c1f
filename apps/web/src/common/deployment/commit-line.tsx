// Commit in one line: short hash, message, author. Shared by all views of a deployment.
import { cn } from '@fairlead/ui/lib/class-names';
import { shortHash } from '@fairlead/ui/lib/format';

export interface CommitLineProps {
  readonly hash: string | null;
  readonly subject: string | null;
  readonly author?: string | null;
  /** Text until the commit is known. */
  readonly fallback?: string;
  readonly className?: string;
}

export function CommitLine({ hash, subject, author, fallback, className }: CommitLineProps) {
  if (hash === null)
    return <span className={cn('truncate text-ink-faint', className)}>{fallback ?? 'No commit yet'}</span>;
  return (
    <span className={cn('flex min-w-0 items-baseline gap-2', className)} title={subject ?? undefined}>
      <code className="shrink-0 font-mono text-xs text-ink-faint">{shortHash(hash)}</code>
      {subject ? <span className="truncate">{subject}</span> : null}
      {author ? <span className="hidden shrink-0 text-ink-faint sm:inline">{author}</span> : null}
    </span>
  );
}
