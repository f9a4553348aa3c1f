'use client';
// API reference: a search, the calls by feature, and each call with its fields. The page includes all of it.
import { Card } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { EmptyState } from '@fairlead/ui/empty-state';
import { SearchInput } from '@fairlead/ui/search-input';
import { Badge } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useDeferredValue } from 'react';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import { type CallEntry, type FieldRow, matching } from './reference.ts';

export function ApiReference({ entries }: { readonly entries: readonly CallEntry[] }) {
  const search = useUrlSearch();
  const shown = matching(entries, useDeferredValue(search.typed));
  const features = [...new Set(shown.map(({ feature }) => feature))];
  return (
    <div className="grid gap-8 lg:grid-cols-[220px_minmax(0,1fr)]">
      <aside className="lg:sticky lg:top-6 lg:max-h-[calc(100dvh-3rem)] lg:self-start lg:overflow-y-auto">
        <SearchInput label="Search endpoints" value={search.typed} onValueChange={search.setTyped} />
        <nav aria-label="Calls" className="mt-4 flex flex-col gap-4 max-lg:hidden">
          {features.map((feature) => (
            <div key={feature}>
              <p className="mb-1 text-sm font-medium text-ink-faint">{feature.replaceAll('-', ' ')}</p>
              <ul>
                {shown
                  .filter((entry) => entry.feature === feature)
                  .map((entry) => (
                    <li key={entry.id}>
                      <a
                        href={`#${entry.id}`}
                        className="block truncate rounded-mark py-0.5 text-ink-soft hover:text-ink"
                      >
                        {entry.summary}
                      </a>
                    </li>
                  ))}
              </ul>
            </div>
          ))}
        </nav>
      </aside>
      <div className="flex min-w-0 flex-col gap-6">
        {shown.length === 0 ? (
          <Card>
            <EmptyState title={`No call matches “${search.typed}”`}>Search by path, permission or field.</EmptyState>
          </Card>
        ) : (
          shown.map((entry) => <Call key={entry.id} entry={entry} />)
        )}
      </div>
    </div>
  );
}

function Call({ entry }: { readonly entry: CallEntry }) {
  return (
    <Card id={entry.id} className="scroll-mt-6">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3">
        <h2 className="font-semibold text-lg">{entry.summary}</h2>
        <code className="break-all font-mono text-sm text-ink-soft">
          {entry.method} {entry.path}
        </code>
        <span className="ml-auto">
          <Badge>{entry.permission}</Badge>
        </span>
      </header>
      <div className="flex items-start gap-2 border-line border-t bg-sunken py-2 pr-2 pl-4">
        <code className="min-w-0 flex-1 break-all font-mono text-xs leading-6">{entry.example}</code>
        <CopyButton value={entry.example} label={`Copy example of ${entry.id}`} />
      </div>
      <Fields title="Request" rows={entry.input} />
      <Fields title="Response" rows={entry.output} />
    </Card>
  );
}

function Fields({ title, rows }: { readonly title: string; readonly rows: readonly FieldRow[] }) {
  if (rows.length === 0) return null;
  return (
    <details className="border-line border-t" open={title === 'Request'}>
      <summary className="cursor-pointer px-4 py-2 text-sm font-medium text-ink-soft hover:text-ink">{title}</summary>
      <Table>
        <TableHead>
          <HeadCell>Field</HeadCell>
          <HeadCell>Type</HeadCell>
          <HeadCell>{title === 'Request' ? 'Required' : 'Always present'}</HeadCell>
        </TableHead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name} className="border-line border-b last:border-b-0">
              <Cell className="font-mono text-sm break-all">{row.name}</Cell>
              <Cell className="text-sm text-ink-soft">{row.type}</Cell>
              <Cell className="text-sm text-ink-soft">{row.required ? 'yes' : 'no'}</Cell>
            </tr>
          ))}
        </tbody>
      </Table>
    </details>
  );
}
