'use client';
// Table of audit events, a sentence each; a press or Enter opens an event.
import { auditSentence } from '@fairlead/contract/audit-sentences';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { Outputs } from '../../api/types.ts';

export type AuditEvent = Outputs['audit']['list']['items'][number];

/** Label of each kind of actor. */
const KIND: Record<AuditEvent['actor']['kind'], string> = {
  member: 'Person',
  token: 'API token',
  agent: 'Server',
  system: 'System',
};

/** Returns the name of a person or token, or the reason of the system. */
export function actorName({ actor }: AuditEvent): string {
  return actor.name ?? (actor.kind === 'system' ? 'Fairlead' : `Deleted ${KIND[actor.kind].toLowerCase()}`);
}

export function actorKind({ actor }: AuditEvent): string {
  return KIND[actor.kind];
}

export interface AuditRowsProps {
  readonly events: readonly AuditEvent[];
  readonly onOpen: (id: string) => void;
}

export function AuditRows({ events, onOpen }: AuditRowsProps) {
  return (
    <Table>
      <TableHead>
        <HeadCell>Event</HeadCell>
        <HeadCell className="max-md:hidden">Actor</HeadCell>
        <HeadCell className="max-lg:hidden">From</HeadCell>
        <HeadCell numeric>Time</HeadCell>
      </TableHead>
      <tbody>
        {events.map((event) => (
          <Row key={event.id}>
            <Cell className="w-full">
              <button
                type="button"
                {...rowLink}
                className={`${rowLink.className} cursor-pointer text-left font-normal text-pretty [overflow-wrap:anywhere]`}
                onClick={() => onOpen(event.id)}
              >
                <EventSentence event={event} />
              </button>
            </Cell>
            <Cell className="whitespace-nowrap text-ink-soft max-md:hidden">{actorKind(event)}</Cell>
            <Cell className="whitespace-nowrap font-mono text-sm max-lg:hidden">{event.ip ?? '–'}</Cell>
            <Cell numeric>
              <RelativeTime at={event.at} className="font-sans text-ink-soft" />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  );
}

/** Says who did what to what, with the names in bold. */
export function EventSentence({ event }: { readonly event: AuditEvent }) {
  const parts = auditSentence(event.action, event.target.label, (field) => fieldText(event, field));
  return (
    <>
      <span className="font-medium">{actorName(event)}</span>{' '}
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts never change their order
        <span key={index} className={part.isName ? 'font-medium' : 'text-ink-soft'}>
          {part.text}
        </span>
      ))}
    </>
  );
}

/** Returns the field with its name instead of an id; null for none, and for an id whose row is gone. */
function fieldText({ before, after, names }: AuditEvent, field: string): string | null {
  const value = after?.[field] ?? before?.[field] ?? null;
  if (value === null || Array.isArray(value) || value === '') return null;
  const text = String(value);
  return names[text] ?? (/^[a-z]{3}_[0-9A-Za-z]{20}$/.test(text) ? null : text);
}
