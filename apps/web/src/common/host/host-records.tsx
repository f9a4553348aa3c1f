// Table of DNS records, with buttons that copy names and values.
import type { DnsRecord } from '@fairlead/core/host/schema';
import { CopyButton } from '@fairlead/ui/copy-button';
import { StateText } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Row, Table, TableHead } from '@fairlead/ui/table';
import type { ReactNode } from 'react';

interface HostRecordsProps {
  readonly label: string;
  readonly records: readonly DnsRecord[];
  /** Shows type, name and value only, for a narrow column. */
  readonly compact?: boolean;
}

export function HostRecords({ label, records, compact = false }: HostRecordsProps) {
  return (
    <div className="border-line border-t">
      <Table scrollLabel={label}>
        <TableHead>
          <HeadCell>Type</HeadCell>
          <HeadCell>Name</HeadCell>
          <HeadCell>Value</HeadCell>
          {compact ? null : (
            <>
              <HeadCell numeric className="max-sm:hidden">
                TTL
              </HeadCell>
              <HeadCell>Found</HeadCell>
            </>
          )}
        </TableHead>
        <tbody>
          {records.map((record) => (
            <Row key={`${record.type} ${record.value}`}>
              <Cell className="font-mono text-sm">{record.type}</Cell>
              <Cell>
                <Copied text={record.name} label={`Copy name ${record.name}`}>
                  <span title={record.fullName}>{record.name}</span>
                </Copied>
              </Cell>
              <Cell>
                <Copied text={record.value} label={`Copy value ${record.value}`} wraps={compact}>
                  {record.value}
                </Copied>
                {compact || record.serverName === null ? null : (
                  <span className="text-ink-faint text-xs">{record.serverName}</span>
                )}
              </Cell>
              {compact ? null : (
                <>
                  <Cell numeric className="max-sm:hidden">
                    {record.ttlSeconds}
                  </Cell>
                  <Cell>
                    <Found isSet={record.isSet} />
                  </Cell>
                </>
              )}
            </Row>
          ))}
        </tbody>
      </Table>
    </div>
  );
}

function Found({ isSet }: { readonly isSet: boolean | null }) {
  if (isSet === null) return <StateText tone="idle">Unknown</StateText>;
  return isSet ? <StateText tone="ok">Found</StateText> : <StateText tone="warn">Missing</StateText>;
}

interface CopiedProps {
  readonly text: string;
  readonly label: string;
  /** Wraps a long text instead of scrolling the table. */
  readonly wraps?: boolean;
  readonly children: ReactNode;
}

function Copied({ text, label, wraps = false, children }: CopiedProps) {
  return (
    <span className={`flex items-center gap-1 font-mono text-sm ${wraps ? 'break-all' : 'whitespace-nowrap'}`}>
      {children}
      <CopyButton value={text} label={label} />
    </span>
  );
}
