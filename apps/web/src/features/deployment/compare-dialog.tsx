'use client';
// Compares a release with the live one: commit, settings, and secrets by name and version.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs, Release } from '../../api/types.ts';
import { namedSetting } from '../../common/app/setting-fields.ts';
import { QueryView } from '../../common/page/query-view.tsx';

type Difference = Outputs['release']['diff']['settings'][number];

export interface CompareDialogProps {
  readonly appId: string;
  readonly environmentId: string;
  /** Live release. */
  readonly from: Release;
  readonly to: Release;
  /** Number of the deployment of the live release; null if it is not in the list. */
  readonly fromNumber: number | null;
  readonly toNumber: number;
  readonly onClose: () => void;
  /** Button for the release, such as its rollback. */
  readonly action: ReactNode;
}

export function CompareDialog({
  appId,
  environmentId,
  from,
  to,
  fromNumber,
  toNumber,
  onClose,
  action,
}: CompareDialogProps) {
  const trpc = useTRPC();
  const diff = useQuery(
    trpc.release.diff.queryOptions({ appId, environmentId, fromReleaseId: from.id, toReleaseId: to.id }),
  );
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`#${toNumber} compared with ${fromNumber === null ? 'the live release' : `the live #${fromNumber}`}`}
      detail="A rollback restores all of this: code, settings and secrets."
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {action}
        </>
      }
    >
      <QueryView query={diff} skeleton={<Skeleton className="h-48" />}>
        {({ artifact, settings, secrets }) => (
          <div className="flex flex-col gap-5">
            <Differences title="Code" same="The same commit and artifact." items={artifact} />
            <Differences title="Settings" same="The same settings." items={settings} />
            <Differences title="Secrets" same="The same secrets in the same versions." items={secrets} />
          </div>
        )}
      </QueryView>
    </Dialog>
  );
}

function Differences({
  title,
  same,
  items,
}: {
  readonly title: string;
  readonly same: string;
  readonly items: readonly Difference[];
}) {
  return (
    <section aria-label={title}>
      <h3 className="font-semibold">{title}</h3>
      {items.length === 0 ? (
        <p className="mt-1 text-ink-faint text-sm">{same}</p>
      ) : (
        <dl className="mt-2 overflow-hidden rounded-control border border-line">
          {items.map(({ name, before, after }) => (
            <div
              key={name}
              className="grid gap-x-4 gap-y-1 border-line border-t px-3 py-2 first:border-t-0 sm:grid-cols-[10rem_minmax(0,1fr)]"
            >
              <dt className="text-ink-soft text-sm">{labelOf(name)}</dt>
              <dd className="flex min-w-0 flex-col gap-0.5 font-mono text-sm">
                <ChangedValue sign="−" text={before} className="text-bad-text" label="now" />
                <ChangedValue sign="+" text={after} className="text-ok-text" label="then" />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function ChangedValue({
  sign,
  text,
  className,
  label,
}: {
  readonly sign: string;
  readonly text: string | null;
  readonly className: string;
  readonly label: string;
}) {
  if (text === null) return null;
  return (
    <span className={`flex min-w-0 gap-2 ${className}`}>
      <span aria-hidden="true">{sign}</span>
      <span className="sr-only">{label}: </span>
      <span className="wrap-anywhere min-w-0 whitespace-pre-wrap">{text === '' ? '(empty)' : text}</span>
    </span>
  );
}

/** Facts of a release that are no settings. */
const FACTS: Readonly<Record<string, string>> = {
  commitHash: 'Commit',
  commitSubject: 'Commit message',
  artifactDigest: 'Artifact',
  runtime: 'Runtime',
  command: 'Start command',
  healthPath: 'Default health path',
};

function labelOf(name: string): string {
  return FACTS[name] ?? namedSetting(name).label;
}
