'use client';
// Details of an audit event: actor, action, origin, and each field before and after.
import { auditActionLabel } from '@fairlead/contract/audit-actions';
import { Facts } from '@fairlead/ui/card';
import { Dialog } from '@fairlead/ui/dialog';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { type AuditEvent, actorKind, actorName, EventSentence } from './audit-rows.tsx';
import { type DiffLine, diffOf } from './diff.ts';

export function EventDialog({ event, onClose }: { readonly event: AuditEvent; readonly onClose: () => void }) {
  const lines = diffOf(event.before, event.after, event.names);
  return (
    <Dialog open onClose={onClose} wide title={`${auditActionLabel(event.action)} · ${event.target.label}`}>
      <div className="flex flex-col gap-5">
        <p className="text-pretty">
          <EventSentence event={event} />
        </p>
        <Facts
          className="sm:grid-cols-2"
          items={[
            { term: actorKind(event), value: event.actor.kind === 'system' ? event.actor.id : actorName(event) },
            { term: 'Action', value: <span className="font-mono text-sm break-all">{event.action}</span> },
            { term: 'Time', value: <RelativeTime at={event.at} /> },
            { term: 'From', value: <span className="font-mono text-sm">{event.ip ?? 'No address known'}</span> },
            { term: event.target.kind, value: <span className="font-mono text-sm break-all">{event.target.id}</span> },
          ]}
        />
        {lines.length === 0 ? null : <Diff lines={lines} />}
        <p className="text-sm text-ink-faint">
          Event {event.sequence} of the chain, <span className="font-mono text-xs break-all">SHA-256 {event.hash}</span>
        </p>
      </div>
    </Dialog>
  );
}

function Diff({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <div className="rounded-control border border-line">
      <Table scrollLabel="Changes">
        <TableHead>
          <HeadCell>Field</HeadCell>
          <HeadCell>Before</HeadCell>
          <HeadCell>After</HeadCell>
        </TableHead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.field} className="border-line border-b align-top last:border-b-0">
              <Cell className="whitespace-nowrap text-ink-soft">{line.field}</Cell>
              <Cell className="font-mono text-sm break-words">
                {line.before === null ? <span className="text-ink-faint">–</span> : <del>{line.before}</del>}
              </Cell>
              <Cell className="font-mono text-sm break-words">
                {line.after === null ? <span className="text-ink-faint">–</span> : line.after}
              </Cell>
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}
