'use client';
// Table of environment variables with their actions. Rows become stacked blocks on narrow screens.
import { IconButton } from '@fairlead/ui/button';
import { CopyButton } from '@fairlead/ui/copy-button';
import { cn } from '@fairlead/ui/lib/class-names';
import { Menu, MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText } from '@fairlead/ui/state-pill';
import { Cell, HeadCell, Row, Table } from '@fairlead/ui/table';
import { Ellipsis, Eye, EyeOff, History, Lock, LockOpen, Pencil, Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import type { PlainVariable, SecretView } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import type { PlainRow, SecretRow, VariableRow } from './rows.ts';
import { scopeLabel } from './scopes.ts';
import { SecretBadges, SecretValue, useShownSecret } from './secret-value.tsx';

export type RowAction =
  | { readonly kind: 'edit'; readonly variable: PlainVariable }
  | { readonly kind: 'make secret'; readonly variable: PlainVariable }
  | { readonly kind: 'delete'; readonly variable: PlainVariable }
  | { readonly kind: 'edit secret'; readonly secret: SecretView }
  | { readonly kind: 'history'; readonly secret: SecretView }
  | { readonly kind: 'delete secret'; readonly secret: SecretView };

export interface VariableTableProps {
  readonly rows: readonly VariableRow[];
  readonly onAction: (action: RowAction) => void;
}

export function VariableTable({ rows, onAction }: VariableTableProps) {
  return (
    <Table className="table-fixed max-xl:block">
      <thead className="max-xl:sr-only">
        <tr className="border-line border-b">
          <HeadCell className="w-[26%]">Name</HeadCell>
          <HeadCell className="w-22">Kind</HeadCell>
          <HeadCell>Value</HeadCell>
          <HeadCell className="w-30">Scope</HeadCell>
          <HeadCell className="w-26">Source</HeadCell>
          <HeadCell className="w-44">Last change</HeadCell>
          <HeadCell className="w-14">
            <span className="sr-only">Actions</span>
          </HeadCell>
        </tr>
      </thead>
      <tbody className="max-xl:block">
        {rows.map((row) =>
          row.kind === 'plain' ? (
            <PlainVariableRow key={row.key} row={row} onAction={onAction} />
          ) : (
            <SecretVariableRow key={row.key} row={row} onAction={onAction} />
          ),
        )}
      </tbody>
    </Table>
  );
}

function PlainVariableRow({ row, onAction }: { readonly row: PlainRow } & Pick<VariableTableProps, 'onAction'>) {
  const { can } = useMe();
  const { variable } = row;
  const mayWrite = can('app.write');
  return (
    <VariableCells
      row={row}
      onEdit={mayWrite ? () => onAction({ kind: 'edit', variable }) : null}
      value={
        variable.value === '' ? (
          <span className="text-ink-faint text-sm">Empty</span>
        ) : (
          <>
            <code className="min-w-0 truncate font-mono text-sm" title={variable.value}>
              {variable.value}
            </code>
            <CopyButton value={variable.value} label={`Copy the value of ${row.name}`} />
          </>
        )
      }
      scope={scopeLabel[variable.scope]}
      source="This app"
      updatedAt={variable.updatedAt}
      authorName={variable.authorName}
      actions={
        mayWrite ? (
          <RowMenu name={row.name}>
            <MenuItem icon={<Pencil size={15} />} onSelect={() => onAction({ kind: 'edit', variable })}>
              Change
            </MenuItem>
            {can('secret.write') ? (
              <MenuItem icon={<Lock size={15} />} onSelect={() => onAction({ kind: 'make secret', variable })}>
                Make secret
              </MenuItem>
            ) : null}
            <MenuSeparator />
            <MenuItem danger icon={<Trash2 size={15} />} onSelect={() => onAction({ kind: 'delete', variable })}>
              Delete
            </MenuItem>
          </RowMenu>
        ) : null
      }
    />
  );
}

function SecretVariableRow({ row, onAction }: { readonly row: SecretRow } & Pick<VariableTableProps, 'onAction'>) {
  const { can, paths } = useMe();
  const { secret, group } = row;
  const { shown, toggle } = useShownSecret(secret);
  const mayWrite = can('secret.write') && group === null;
  return (
    <VariableCells
      row={row}
      onEdit={mayWrite ? () => onAction({ kind: 'edit secret', secret }) : null}
      value={
        <>
          <SecretValue secret={secret} shown={shown} />
          <SecretBadges secret={secret} />
        </>
      }
      scope={secret.atBuild ? 'Build and run' : 'Run only'}
      source={
        group === null ? (
          'This app'
        ) : (
          <HoverLink href={paths.sharedSecrets} className="rounded-mark underline hover:text-ink" title={group}>
            {group}
          </HoverLink>
        )
      }
      updatedAt={secret.updatedAt}
      authorName={secret.authorName}
      actions={
        <RowMenu name={group === null ? row.name : `${row.name} of ${group}`}>
          {mayWrite ? (
            <MenuItem icon={<Pencil size={15} />} onSelect={() => onAction({ kind: 'edit secret', secret })}>
              Change
            </MenuItem>
          ) : null}
          {can('secret.reveal') && !secret.sealed ? (
            <MenuItem icon={shown === null ? <Eye size={15} /> : <EyeOff size={15} />} onSelect={toggle}>
              {shown === null ? 'Show value' : 'Hide value'}
            </MenuItem>
          ) : null}
          <MenuItem icon={<History size={15} />} onSelect={() => onAction({ kind: 'history', secret })}>
            History
          </MenuItem>
          {mayWrite ? (
            <>
              <MenuSeparator />
              <MenuItem danger icon={<Trash2 size={15} />} onSelect={() => onAction({ kind: 'delete secret', secret })}>
                Delete
              </MenuItem>
            </>
          ) : null}
        </RowMenu>
      }
    />
  );
}

interface VariableCellsProps {
  readonly row: VariableRow;
  /** Opens the form of the variable; null for a reader. */
  readonly onEdit: (() => void) | null;
  readonly value: ReactNode;
  readonly scope: string;
  readonly source: ReactNode;
  readonly updatedAt: Date;
  readonly authorName: string | null;
  readonly actions: ReactNode;
}

const BLOCK = 'max-xl:h-auto max-xl:py-0';

function VariableCells(props: VariableCellsProps) {
  const { row, onEdit, value, scope, source, updatedAt, authorName, actions } = props;
  const { name, kind, pending, overridden } = row;
  const nameClass = 'block max-w-full truncate text-left font-mono text-sm';
  return (
    <Row className="max-xl:flex max-xl:flex-wrap max-xl:items-center max-xl:gap-y-1.5 max-xl:py-3">
      <Cell className={cn(BLOCK, 'max-xl:w-[calc(100%-3.5rem)] max-xl:pr-0 max-xl:pl-4')}>
        {onEdit === null ? (
          <code className={nameClass} title={name}>
            {name}
          </code>
        ) : (
          <button
            type="button"
            data-row-link=""
            title={name}
            onClick={onEdit}
            className={cn(nameClass, 'rounded-mark font-medium hover:underline')}
          >
            {name}
          </button>
        )}
        {pending === null && !overridden ? null : (
          <span className="mt-0.5 flex flex-wrap gap-x-3">
            {pending === null ? null : <StateText tone="warn">Deploy to apply</StateText>}
            {overridden ? <StateText tone="idle">Overridden</StateText> : null}
          </span>
        )}
      </Cell>
      <Cell className={cn(BLOCK, 'text-sm text-ink-soft max-xl:order-3 max-xl:pr-0 max-xl:pl-4')}>
        <span className="flex items-center gap-1.5">
          {kind === 'secret' ? (
            <Lock size={14} aria-hidden="true" className="text-ink-faint" />
          ) : (
            <LockOpen size={14} aria-hidden="true" className="text-ink-faint" />
          )}
          {kind === 'secret' ? 'Secret' : 'Plain'}
        </span>
      </Cell>
      <Cell className={cn(BLOCK, 'max-xl:order-2 max-xl:w-full max-xl:px-4')}>
        <span className={cn('flex min-w-0 items-center gap-x-2 gap-y-1', kind === 'secret' && 'flex-wrap')}>
          {value}
        </span>
      </Cell>
      <Cell className={cn(BLOCK, 'text-sm text-ink-soft max-xl:order-4 max-xl:pr-0 max-xl:pl-4')}>{scope}</Cell>
      <Cell className={cn(BLOCK, 'truncate text-sm text-ink-soft max-xl:order-5 max-xl:pr-0 max-xl:pl-4')}>
        {source}
      </Cell>
      <Cell className={cn(BLOCK, 'text-sm text-ink-faint max-xl:order-6 max-xl:px-4')}>
        <span className="block truncate" title={authorName ?? undefined}>
          {authorName ?? 'A service account'} · <RelativeTime at={updatedAt} />
        </span>
      </Cell>
      <Cell className={cn(BLOCK, 'max-xl:order-1 max-xl:ml-auto max-xl:pr-3 max-xl:pl-0')}>{actions}</Cell>
    </Row>
  );
}

function RowMenu({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Menu
      label={`Actions for ${name}`}
      trigger={(trigger) => (
        <IconButton {...trigger} label={`Actions for ${name}`} size="small">
          <Ellipsis size={16} aria-hidden="true" />
        </IconButton>
      )}
    >
      {children}
    </Menu>
  );
}
