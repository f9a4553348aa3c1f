'use client';
// Table of audit events; a press or Enter opens an event.
import { auditActionLabel } from '@fairlead/contract/audit-actions';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import type { Outputs } from '../../api/types.ts';

export type AuditEvent = Outputs['audit']['list']['items'][number];

const KIND: Record<AuditEvent['actor']['kind'], string> = {
  member: 'Person',
  token: 'API token',
  agent: 'Server',
  system: 'System',
};

/** Returns the name of a person or token, or the reason of the system. */
export function actorName({ actor }: AuditEvent): string {
  return actor.name ?? actor.id;
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
        <HeadCell>Action</HeadCell>
        <HeadCell className="max-sm:hidden">Target</HeadCell>
        <HeadCell className="max-sm:hidden">Actor</HeadCell>
        <HeadCell className="max-lg:hidden">Address</HeadCell>
        <HeadCell numeric>Time</HeadCell>
      </TableHead>
      <tbody>
        {events.map((event) => (
          <Row key={event.id}>
            <Cell className="whitespace-nowrap max-sm:w-full max-sm:max-w-0 max-sm:truncate">
              <button
                type="button"
                {...rowLink}
                className={`${rowLink.className} cursor-pointer`}
                onClick={() => onOpen(event.id)}
              >
                {auditActionLabel(event.action)}
              </button>
              <span className="block truncate text-sm text-ink-faint sm:hidden">
                {event.target.label} · {actorName(event)}
              </span>
            </Cell>
            <Cell className="w-full max-w-0 truncate max-sm:hidden">{event.target.label}</Cell>
            <Cell className="whitespace-nowrap max-sm:hidden">
              {actorName(event)}
              {event.actor.kind === 'member' ? null : (
                <span className="block text-sm text-ink-faint">{actorKind(event)}</span>
              )}
            </Cell>
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
