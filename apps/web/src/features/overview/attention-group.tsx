'use client';
// Row of the overview for one kind of problem: its count, a link to the list of exactly those, and the newest by cause.
import { Button, IconButton } from '@fairlead/ui/button';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { cn } from '@fairlead/ui/lib/class-names';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateMark, type Tone } from '@fairlead/ui/state-pill';
import { Check, ChevronRight, Undo2 } from 'lucide-react';
import { useId, useState } from 'react';
import type { AttentionGroup } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { TextWithCode } from '../../common/page/text-with-code.tsx';
import type { AttentionProject } from './attention.tsx';
import { hrefOfGroup, hrefOfItem } from './attention-paths.ts';
import type { AttentionAct } from './use-acknowledge.ts';

type Cause = AttentionGroup['causes'][number];
type Item = Cause['items'][number];

const TONE: Readonly<Record<AttentionGroup['kind'], Tone>> = {
  server_offline: 'bad',
  app_unhealthy: 'warn',
  approval: 'warn',
  deployment_failed: 'bad',
  deployment_stuck: 'warn',
  disk_short: 'warn',
  certificate: 'bad',
  server_refused: 'warn',
  clock_offset: 'warn',
  secret_expiring: 'warn',
};

const LINK =
  "font-medium after:absolute after:inset-0 after:content-[''] focus-visible:outline-none " +
  'focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent-text';

export interface AttentionGroupProps {
  readonly group: AttentionGroup;
  readonly projectId: AttentionProject;
  /** Acknowledges, or restores what is acknowledged. */
  readonly act: AttentionAct;
  readonly isAcknowledged?: boolean;
}

export function AttentionGroupRow(props: AttentionGroupProps) {
  const { group } = props;
  const only = group.causes[0]?.items[0];
  return (
    <li className="border-line border-b last:border-b-0">
      {group.count === 1 && only !== undefined ? <ItemRow {...props} item={only} /> : <ExpandableGroup {...props} />}
    </li>
  );
}

function ExpandableGroup(props: AttentionGroupProps) {
  const { group, projectId, act, isAcknowledged = false } = props;
  const formats = useFormats();
  const { formatInteger } = formats;
  const [isOpen, setIsOpen] = useState(false);
  const { paths } = useMe();
  const id = useId();
  const href = hrefOfGroup(paths, { kind: group.kind, projectId });
  return (
    <>
      <div className="relative flex gap-3 px-4 py-3 hover:bg-hover">
        <span className="mt-1">
          <StateMark tone={TONE[group.kind]} />
        </span>
        <div className="min-w-0 flex-1">
          <button
            type="button"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setIsOpen(!isOpen)}
            className={cn(LINK, 'inline-flex items-center gap-1 text-left')}
          >
            {group.title}
            <ChevronRight
              size={14}
              aria-hidden="true"
              className={cn('shrink-0 text-ink-faint transition-transform duration-120', isOpen && 'rotate-90')}
            />
          </button>
          <p className="truncate text-sm text-ink-soft">{summaryOf(group, formats)}</p>
        </div>
        {href === null || isAcknowledged ? null : (
          <HoverLink
            href={href}
            aria-label={`Show all: ${group.title}`}
            className="relative z-1 self-center whitespace-nowrap rounded-mark text-sm text-ink-soft underline-offset-2 hover:text-ink hover:underline"
          >
            Show all
          </HoverLink>
        )}
      </div>
      <div id={id} hidden={!isOpen} className="border-line border-t">
        {group.causes.map((cause) => (
          <CauseItems key={cause.cause} {...props} cause={cause} />
        ))}
        <div className="border-line border-t p-1.5 pl-9">
          <Button
            variant="ghost"
            size="small"
            pending={act.pending}
            icon={isAcknowledged ? <Undo2 size={14} aria-hidden="true" /> : <Check size={14} aria-hidden="true" />}
            onClick={() => act.run({ kind: group.kind })}
          >
            {isAcknowledged ? 'Restore' : 'Acknowledge'} all {formatInteger(group.count)}
          </Button>
        </div>
      </div>
    </>
  );
}

function CauseItems(props: AttentionGroupProps & { readonly cause: Cause }) {
  const { group, projectId, cause, isAcknowledged = false } = props;
  const { formatInteger } = useFormats();
  const { paths } = useMe();
  const href = hrefOfGroup(paths, { kind: group.kind, cause: cause.cause, projectId });
  const more = cause.count - cause.items.length;
  return (
    <>
      {group.kind === 'deployment_failed' ? (
        <h3 className="flex items-baseline gap-2 px-4 pt-3 pl-10 text-sm">
          <span className="min-w-0 truncate font-medium text-ink-soft">{cause.title}</span>
          <span className="tabular text-ink-faint">{formatInteger(cause.count)}</span>
        </h3>
      ) : null}
      <ul>
        {cause.items.map((item) => (
          <li key={item.subject}>
            <ItemRow {...props} item={item} isNested />
          </li>
        ))}
      </ul>
      {more > 0 ? (
        <p className="px-4 pb-2.5 pl-10 text-sm">
          {href === null || isAcknowledged ? (
            <span className="text-ink-faint">and {formatInteger(more)} more</span>
          ) : (
            <HoverLink
              href={href}
              aria-label={`Show all ${formatInteger(cause.count)}: ${group.kind === 'deployment_failed' ? cause.title : group.title}`}
              className="rounded-mark text-ink-soft underline underline-offset-2 hover:text-ink"
            >
              Show all {formatInteger(cause.count)}
            </HoverLink>
          )}
        </p>
      ) : null}
    </>
  );
}

function ItemRow(props: AttentionGroupProps & { readonly item: Item; readonly isNested?: boolean }) {
  const { group, item, act, isAcknowledged = false, isNested = false } = props;
  const { paths } = useMe();
  return (
    <div className={cn('relative flex gap-3 px-4 hover:bg-hover', isNested ? 'py-2 pl-10' : 'py-3')}>
      {isNested ? null : (
        <span className="mt-1">
          <StateMark tone={TONE[group.kind]} />
        </span>
      )}
      <div className="min-w-0 flex-1">
        <HoverLink href={hrefOfItem(paths, item)} className={LINK}>
          {item.title}
        </HoverLink>
        <p className={cn('text-pretty text-sm text-ink-soft', isNested && 'line-clamp-2')}>
          <TextWithCode text={item.detail} />
          {item.at === null ? null : (
            <>
              {' '}
              <RelativeTime at={item.at} className="whitespace-nowrap text-ink-faint" />
            </>
          )}
        </p>
      </div>
      <IconButton
        label={`${isAcknowledged ? 'Restore' : 'Acknowledge'}: ${item.title}`}
        title={isAcknowledged ? 'Restore' : 'Acknowledge'}
        size="small"
        className="relative z-1 self-center"
        onClick={() => act.run({ kind: group.kind, subject: item.subject })}
      >
        {isAcknowledged ? <Undo2 size={15} aria-hidden="true" /> : <Check size={15} aria-hidden="true" />}
      </IconButton>
    </div>
  );
}

/** Names the causes with their counts, or the first entries. */
function summaryOf({ kind, causes }: AttentionGroup, { formatInteger }: Formats): string {
  if (kind === 'deployment_failed')
    return causes.map(({ title, count }) => `${formatInteger(count)} × ${title}`).join(' · ');
  return causes.flatMap(({ items }) => items.map(({ title }) => title)).join(' · ');
}
