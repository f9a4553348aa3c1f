'use client';
// Problems that need a person, first on the overview, grouped by kind. Shows one quiet line when there are none.
import { Button } from '@fairlead/ui/button';
import { StateMark } from '@fairlead/ui/state-pill';
import { useState } from 'react';
import type { ControlPlaneNotice, Overview } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { AttentionGroupRow } from './attention-group.tsx';
import { useAcknowledge } from './use-acknowledge.ts';

export interface AttentionProps {
  readonly attention: Overview['attention'];
  /** Problems of the control plane itself and a newer version, which only operators get. They come first. */
  readonly warnings: readonly ControlPlaneNotice[];
  /** The only project that is shown; undefined shows all. */
  readonly projectId: AttentionProject;
}

export type AttentionProject = Parameters<typeof useAcknowledge>[0];

export function Attention({ attention: { groups, acknowledged }, warnings, projectId }: AttentionProps) {
  const [showsHidden, setShowsHidden] = useState(false);
  const actions = useAcknowledge(projectId);
  const hiddenCount = acknowledged.reduce((sum, { count }) => sum + count, 0);
  const isQuiet = groups.length + warnings.length === 0;
  return (
    <section aria-label="Needs attention" className="overflow-hidden rounded-card border border-line bg-surface">
      <h2 className="sr-only">Needs attention</h2>
      {isQuiet ? (
        <p className="flex min-h-11 items-center gap-2.5 px-4 text-ink-soft">
          <StateMark tone="ok" />
          Nothing needs your attention.
        </p>
      ) : (
        <ul>
          {warnings.map((warning) => (
            <Warning key={warning.title} warning={warning} />
          ))}
          {groups.map((group) => (
            <AttentionGroupRow key={group.kind} group={group} projectId={projectId} act={actions.acknowledge} />
          ))}
        </ul>
      )}
      {hiddenCount === 0 ? null : (
        <div className="border-line border-t">
          <div className="p-1.5">
            <Button
              variant="ghost"
              size="small"
              aria-expanded={showsHidden}
              onClick={() => setShowsHidden(!showsHidden)}
            >
              {showsHidden ? 'Hide' : 'Show'} acknowledged ({hiddenCount})
            </Button>
          </div>
          {showsHidden ? (
            <ul aria-label="Acknowledged" className="border-line border-t bg-sunken">
              {acknowledged.map((group) => (
                <AttentionGroupRow
                  key={group.kind}
                  group={group}
                  projectId={projectId}
                  act={actions.restore}
                  isAcknowledged
                />
              ))}
            </ul>
          ) : null}
        </div>
      )}
    </section>
  );
}

/** Notices that are no problem, and those that are one now; the rest warns. */
const NOTICE_TONE: Partial<Record<ControlPlaneNotice['kind'], 'idle' | 'bad'>> = {
  update_available: 'idle',
  disk_short: 'bad',
  backup_failed: 'bad',
};

function Warning({ warning: { kind, title, detail } }: { readonly warning: ControlPlaneNotice }) {
  const { paths } = useMe();
  return (
    <li className="relative flex gap-3 border-line border-b px-4 py-3 last:border-b-0 hover:bg-hover">
      <span className="mt-1">
        <StateMark tone={NOTICE_TONE[kind] ?? 'warn'} />
      </span>
      <div className="min-w-0">
        <HoverLink
          href={paths.controlPlane}
          className="font-medium after:absolute after:inset-0 after:content-[''] focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent-text"
        >
          {title}
        </HoverLink>
        <p className="text-pretty text-sm text-ink-soft">{detail}</p>
      </div>
    </li>
  );
}
