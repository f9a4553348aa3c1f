'use client';
// Environment variables of an app: plain ones and secrets in one table, pending changes, missing names, shared groups.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { ErrorNote } from '@fairlead/ui/error-state';
import { SearchInput } from '@fairlead/ui/search-input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useQuery } from '@tanstack/react-query';
import { Braces, ClipboardPaste, GitCompareArrows, Plus } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, AppSecrets, PlainVariable, VariableList } from '../../api/types.ts';
import { useAppInEnvironment } from '../../common/app/app-placement.ts';
import { failureToast } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { useUrlSearch } from '../../common/page/use-url-state.ts';
import type { Kind } from './env-lines.ts';
import { GroupsCard } from './groups-card.tsx';
import { MissingNames } from './missing-names.tsx';
import { PendingNote } from './pending-note.tsx';
import { filterRows, pendingChanges, rowsOf } from './rows.ts';
import { useRefetchVariables, useSaveVariables } from './use-variable-calls.ts';
import { type RowAction, VariableTable } from './variable-table.tsx';

const VariableDialog = dynamic(() => import('./variable-dialog.tsx').then((part) => part.VariableDialog), {
  ssr: false,
});
const SecretDialog = dynamic(() => import('./secret-dialog.tsx').then((part) => part.SecretDialog), {
  ssr: false,
});
const HistoryDialog = dynamic(() => import('./history-dialog.tsx').then((part) => part.HistoryDialog), {
  ssr: false,
});
const DeleteSecretDialog = dynamic(() => import('./delete-secret-dialog.tsx').then((part) => part.DeleteSecretDialog), {
  ssr: false,
});
const PasteDialog = dynamic(() => import('./paste-dialog.tsx').then((part) => part.PasteDialog), {
  ssr: false,
});
const CompareDialog = dynamic(() => import('./compare-dialog.tsx').then((part) => part.CompareDialog), {
  ssr: false,
});

export function VariablesPage({ slug, initial }: { readonly slug: string; readonly initial: AppDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const { app } = useAppInEnvironment(slug, initial);
  const placement = { appId: app.id, environmentId: app.environmentId };
  const mayList = can('secret.read', app);
  const variables = useQuery(trpc.variable.list.queryOptions(placement));
  const secrets = useQuery({ ...trpc.secret.list.queryOptions(placement), enabled: mayList });
  const both = {
    data:
      variables.data === undefined || (mayList && secrets.data === undefined)
        ? undefined
        : { list: variables.data, secrets: secrets.data ?? null },
    error: variables.error ?? secrets.error,
    refetch: () => Promise.all([variables.refetch(), ...(mayList ? [secrets.refetch()] : [])]),
  };
  return (
    <QueryView query={both} skeleton={<Skeleton className="h-72" />}>
      {(data) => <Variables key={app.environmentId} app={app} {...data} />}
    </QueryView>
  );
}

interface VariablesProps {
  readonly app: AppDetail;
  readonly list: VariableList;
  /** Null for a reader who may not list secrets. */
  readonly secrets: AppSecrets | null;
}

type Open =
  | { readonly kind: 'add'; readonly name?: string }
  | { readonly kind: 'paste' }
  | { readonly kind: 'compare' }
  | Exclude<RowAction, { readonly kind: 'delete' }>;

function Variables({ app, list, secrets }: VariablesProps) {
  const search = useUrlSearch();
  const [open, setOpen] = useState<Open | null>(null);
  const placement = { appId: app.id, environmentId: app.environmentId };
  const plainNames = new Set(list.variables.map(({ name }) => name));
  const remove = useDelete(app, plainNames);
  const rows = rowsOf(list, secrets);
  const shown = filterRows(rows, search.typed);
  const problems = secrets?.problems ?? [];
  return (
    <div className="flex flex-col gap-6">
      {problems.length > 0 ? <ErrorNote>{problems.join(' ')}</ErrorNote> : null}
      <PendingNote
        placement={placement}
        pending={pendingChanges(list, secrets)}
        liveDeploymentId={list.liveDeploymentId}
        blocked={problems.length > 0}
      />
      {secrets === null ? null : <MissingNames view={secrets} onAdd={(name) => setOpen({ kind: 'add', name })} />}
      <section aria-label="Environment variables" className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center gap-2">
          <SearchInput
            label="Search variables"
            value={search.typed}
            onValueChange={search.setTyped}
            className="mr-auto sm:max-w-80"
          />
          <Tools app={app} onOpen={setOpen} />
        </div>
        <Card>
          {rows.length === 0 ? (
            <EmptyState icon={<Braces size={20} />} title="No environment variables yet">
              Settings and secrets that the app reads from its environment. Fairlead sets PORT, NODE_ENV and its own,
              such as FAIRLEAD_URL.
            </EmptyState>
          ) : shown.length === 0 ? (
            <EmptyState title={`No variable matches “${search.typed.trim()}”`}>
              Search by name, plain value or shared group.
            </EmptyState>
          ) : (
            <VariableTable
              rows={shown}
              onAction={(action) => (action.kind === 'delete' ? remove(action.variable) : setOpen(action))}
            />
          )}
        </Card>
      </section>
      {secrets === null ? null : <GroupsCard appId={app.id} groups={secrets.groups} />}
      <OpenDialog open={open} app={app} list={list} secrets={secrets} onClose={() => setOpen(null)} />
    </div>
  );
}

function Tools({ app, onOpen }: { readonly app: AppDetail; readonly onOpen: (open: Open) => void }) {
  const { can } = useMe();
  return (
    <>
      {app.placements.length > 1 ? (
        <Button
          variant="ghost"
          icon={<GitCompareArrows size={15} aria-hidden="true" />}
          onClick={() => onOpen({ kind: 'compare' })}
        >
          Compare
        </Button>
      ) : null}
      {can('app.write') || can('secret.write') ? (
        <>
          <Button
            variant="ghost"
            icon={<ClipboardPaste size={15} aria-hidden="true" />}
            onClick={() => onOpen({ kind: 'paste' })}
          >
            Paste .env
          </Button>
          <Button icon={<Plus size={15} aria-hidden="true" />} onClick={() => onOpen({ kind: 'add' })}>
            Add variable
          </Button>
        </>
      ) : null}
    </>
  );
}

interface OpenDialogProps extends VariablesProps {
  readonly open: Open | null;
  readonly onClose: () => void;
}

function OpenDialog({ open, app, list, secrets, onClose }: OpenDialogProps) {
  const placement = { appId: app.id, environmentId: app.environmentId };
  const plainNames = new Set(list.variables.map(({ name }) => name));
  const secretNames = new Set((secrets?.secrets ?? []).map(({ name }) => name));
  const variableDialog = (
    variable: PlainVariable | null,
    more: { readonly name?: string; readonly kind?: Kind } = {},
  ) => <VariableDialog {...{ placement, plainNames, secretNames, variable, onClose, ...more }} />;
  switch (open?.kind) {
    case undefined:
      return null;
    case 'add':
      return variableDialog(null, open.name === undefined ? {} : { name: open.name });
    case 'edit':
      return variableDialog(open.variable);
    case 'make secret':
      return variableDialog(open.variable, { kind: 'secret' });
    case 'edit secret':
      return <SecretDialog owner={placement} secret={open.secret} onClose={onClose} />;
    case 'history':
      return <HistoryDialog secret={open.secret} onClose={onClose} />;
    case 'delete secret':
      return <DeleteSecretDialog secret={open.secret} onClose={onClose} />;
    case 'paste': {
      const plain = new Map(list.variables.map(({ name, value }) => [name, value]));
      return <PasteDialog placement={placement} known={{ plain, secrets: secretNames }} onClose={onClose} />;
    }
    case 'compare':
      return <CompareDialog app={app} onClose={onClose} />;
  }
}

/** Returns a function that deletes a plain variable at once, and offers Undo. */
function useDelete(app: AppDetail, plainNames: ReadonlySet<string>): (variable: PlainVariable) => void {
  const toast = useToast();
  const refetch = useRefetchVariables();
  const save = useSaveVariables({ appId: app.id, environmentId: app.environmentId }, plainNames);
  return ({ name, value, scope }) => {
    const undo = () =>
      void save
        .mutateAsync({ plain: [{ name, value, scope }] })
        .then(refetch, (error: unknown) => toast(failureToast(`${name} wasn't restored`, error)));
    save.mutate(
      { deleted: [name] },
      {
        onSuccess: () => {
          toast({ title: `${name} is deleted`, action: { label: 'Undo', onSelect: undo } });
          refetch();
        },
        onError: (error) => toast(failureToast(`${name} wasn't deleted`, error)),
      },
    );
  };
}
