'use client';
// Compares the variables of an app in two of its environments, and copies chosen ones. Values of secrets stay on the
// server.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Field, Select } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useQuery } from '@tanstack/react-query';
import { ArrowRight, Lock } from 'lucide-react';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail } from '../../api/types.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { compareVariables, type DifferenceState, isCopyable, type Side, type VariableDifference } from './compare.ts';
import { summaryOf } from './env-lines.ts';
import { scopeLabel } from './scopes.ts';
import { useRefetchVariables } from './use-variable-calls.ts';

type Placement = AppDetail['placements'][number];

export interface CompareDialogProps {
  readonly app: AppDetail;
  readonly onClose: () => void;
}

/** Compares the page's environment with another one; the copy goes into the page's. */
export function CompareDialog({ app, onClose }: CompareDialogProps) {
  const { placements, environmentId } = app;
  const [toId, setTo] = useState(environmentId);
  const [fromId, setFrom] = useState(placements.find((each) => each.environmentId !== environmentId)?.environmentId);
  const [chosen, setChosen] = useState<ReadonlySet<string> | null>(null);
  const placementOf = (id: string | undefined) => placements.find((each) => each.environmentId === id);
  const [from, to] = [placementOf(fromId), placementOf(toId)];
  if (from === undefined || to === undefined) return null;
  const choose = (side: 'from' | 'to', id: Placement['environmentId']) => {
    const [next, other] = side === 'from' ? [to, from] : [from, to];
    // The same environment on both sides swaps them.
    const moved = id === next.environmentId ? other.environmentId : next.environmentId;
    setFrom(side === 'from' ? id : moved);
    setTo(side === 'to' ? id : moved);
    setChosen(null);
  };
  return <Comparison {...{ app, from, to, chosen, onClose }} onEnvironment={choose} onChosen={setChosen} />;
}

interface ComparisonProps extends CompareDialogProps {
  readonly from: Placement;
  readonly to: Placement;
  /** Names to copy; null: those that the target lacks. */
  readonly chosen: ReadonlySet<string> | null;
  readonly onChosen: (names: ReadonlySet<string>) => void;
  readonly onEnvironment: (side: 'from' | 'to', id: Placement['environmentId']) => void;
}

function Comparison({ app, from, to, chosen, onChosen, onEnvironment, onClose }: ComparisonProps) {
  const { plural } = useFormats();
  const { isGranted } = useMe();
  const trpc = useTRPC();
  const toast = useToast();
  const refetch = useRefetchVariables();
  const copy = useFreshMutation(trpc.variable.copy.mutationOptions());
  const differences = useDifferences(app, from, to);
  const scopeOf = ({ environmentId }: Placement) => ({ projectId: app.projectId, environmentId });
  const mayChange = !to.protected || isGranted('deployment.approve', scopeOf(to));
  const mayWrite = mayChange && isGranted('app.write', scopeOf(to));
  const mayCopySecrets = isGranted('secret.write', scopeOf(to)) && isGranted('secret.reveal', scopeOf(from));
  const mayCopy = (difference: VariableDifference) =>
    mayWrite && isCopyable(difference) && (difference.from?.kind === 'plain' || mayCopySecrets);
  const all = differences.data ?? [];
  const copied = all.filter(
    (each) => mayCopy(each) && (chosen === null ? each.state === 'only from' : chosen.has(each.name)),
  );
  const toggle = (name: string) => {
    const next = new Set(copied.map((each) => each.name));
    if (!next.delete(name)) next.add(name);
    onChosen(next);
  };
  const namesOf = (kind: Side['kind']) => copied.flatMap(({ name, from: side }) => (side?.kind === kind ? [name] : []));
  const submit = () =>
    copy.mutate(
      {
        appId: app.id,
        fromEnvironmentId: from.environmentId,
        environmentId: to.environmentId,
        plain: namesOf('plain'),
        secrets: namesOf('secret'),
      },
      {
        onSuccess: (result) => {
          toast({ title: `Copied to ${to.environmentName}: ${summaryOf(result)}` });
          refetch();
          onClose();
        },
      },
    );
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Compare environments"
      detail="Copied secrets stay on the server. Shared groups are the same in all environments."
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {mayWrite ? (
            <Button variant="accent" pending={copy.isPending} disabled={copied.length === 0} onClick={submit}>
              {copied.length === 0
                ? `Copy to ${to.environmentName}`
                : `Copy ${plural(copied.length, 'variable', 'variables')} to ${to.environmentName}`}
            </Button>
          ) : null}
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <div className="flex items-end gap-3">
          <EnvironmentField
            label="From"
            placements={app.placements}
            value={from}
            onValue={(id) => onEnvironment('from', id)}
          />
          <ArrowRight size={16} aria-hidden="true" className="mb-2.5 shrink-0 text-ink-faint" />
          <EnvironmentField
            label="To"
            placements={app.placements}
            value={to}
            onValue={(id) => onEnvironment('to', id)}
          />
        </div>
        <QueryView query={differences} skeleton={<Skeleton className="h-48" />}>
          {(data) => <Differences all={data} copied={copied} mayCopy={mayCopy} onToggle={toggle} from={from} to={to} />}
        </QueryView>
        {mayWrite ? null : (
          <p className="text-ink-faint text-sm">
            {mayChange
              ? 'You need the permission “Create and change apps” in the target to copy variables.'
              : `${to.environmentName} is protected: only members who may approve deployments can copy variables to it.`}
          </p>
        )}
        {copy.error === null || wasCancelled(copy.error) ? null : (
          <ErrorNote>{readFailure(copy.error).message}</ErrorNote>
        )}
      </div>
    </Dialog>
  );
}

interface EnvironmentFieldProps {
  readonly label: string;
  readonly placements: readonly Placement[];
  readonly value: Placement;
  readonly onValue: (id: Placement['environmentId']) => void;
}

function EnvironmentField({ label, placements, value, onValue }: EnvironmentFieldProps) {
  return (
    <Field label={label} className="min-w-0 flex-1">
      {(control) => (
        <Select
          {...control}
          value={value.environmentId}
          onChange={({ target }) => {
            const found = placements.find(({ environmentId }) => environmentId === target.value);
            if (found !== undefined) onValue(found.environmentId);
          }}
        >
          {placements.map(({ environmentId, environmentName }) => (
            <option key={environmentId} value={environmentId}>
              {environmentName}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

/** Combines the four lists into one query for `QueryView`. */
function useDifferences(app: AppDetail, from: Placement, to: Placement) {
  const trpc = useTRPC();
  const { isGranted } = useMe();
  const inputOf = ({ environmentId }: Placement) => ({ appId: app.id, environmentId });
  const mayList = (side: Placement) =>
    isGranted('secret.read', { projectId: app.projectId, environmentId: side.environmentId });
  const plain = [
    useQuery(trpc.variable.list.queryOptions(inputOf(from))),
    useQuery(trpc.variable.list.queryOptions(inputOf(to))),
  ] as const;
  const secrets = [
    useQuery({ ...trpc.secret.list.queryOptions(inputOf(from)), enabled: mayList(from) }),
    useQuery({ ...trpc.secret.list.queryOptions(inputOf(to)), enabled: mayList(to) }),
  ] as const;
  const queries = [...plain, ...(mayList(from) ? [secrets[0]] : []), ...(mayList(to) ? [secrets[1]] : [])];
  const sideOf = (at: 0 | 1) => ({
    variables: plain[at].data?.variables ?? [],
    secrets: secrets[at].data?.secrets ?? null,
  });
  return {
    data: queries.every(({ data }) => data !== undefined) ? compareVariables(sideOf(0), sideOf(1)) : undefined,
    error: queries.find(({ error }) => error !== null)?.error ?? null,
    refetch: () => Promise.all(queries.map((query) => query.refetch())),
  };
}

interface DifferencesProps {
  readonly all: readonly VariableDifference[];
  readonly copied: readonly VariableDifference[];
  readonly mayCopy: (difference: VariableDifference) => boolean;
  readonly onToggle: (name: string) => void;
  readonly from: Placement;
  readonly to: Placement;
}

function Differences({ all, copied, mayCopy, onToggle, from, to }: DifferencesProps) {
  const { plural } = useFormats();
  const shown = all.filter(({ state }) => state !== 'same');
  const same = all.length - shown.length;
  const sameText = same === 0 ? '' : `${plural(same, 'plain variable is', 'plain variables are')} the same.`;
  const stateText: Record<DifferenceState, string> = {
    'only from': `Only in ${from.environmentName}`,
    'only to': `Only in ${to.environmentName}`,
    changed: 'Different',
    same: 'Same',
    secrets: 'Secret in both',
    kinds: 'Plain in one, secret in the other',
  };
  return (
    <>
      {shown.length === 0 ? (
        <p className="rounded-control border border-line px-3 py-4 text-center text-ink-soft">
          {all.length === 0 ? 'Neither environment has variables.' : 'No differences.'}
        </p>
      ) : (
        <ul
          aria-label="Differences"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling list must be reachable by keyboard
          tabIndex={0}
          className="max-h-96 overflow-y-auto rounded-control border border-line"
        >
          {shown.map((difference) => (
            <li
              key={difference.name}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-3 py-2 last:border-b-0"
            >
              <Checkbox
                className="min-w-0 flex-1 basis-64"
                label={<code className="wrap-anywhere font-mono text-sm">{difference.name}</code>}
                checked={copied.includes(difference)}
                disabled={!mayCopy(difference)}
                onChange={() => onToggle(difference.name)}
              />
              <span className="text-ink-faint text-sm max-sm:pl-6.5">{stateText[difference.state]}</span>
              <dl className="grid w-full grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 pl-6.5 text-sm">
                <SideValue environment={from.environmentName} side={difference.from} />
                <SideValue environment={to.environmentName} side={difference.to} />
              </dl>
            </li>
          ))}
        </ul>
      )}
      {sameText === '' ? null : <p className="text-ink-faint text-sm">{sameText}</p>}
    </>
  );
}

function SideValue({ environment, side }: { readonly environment: string; readonly side: Side | null }) {
  if (side === null) return null;
  return (
    <>
      <dt className="text-ink-faint">{environment}</dt>
      <dd className="min-w-0">
        {side.variable === null ? (
          <span className="inline-flex items-center gap-1.5 text-ink-soft">
            <Lock size={13} aria-hidden="true" /> Secret
          </span>
        ) : (
          <>
            <code className="wrap-anywhere whitespace-pre-wrap font-mono">{side.variable.value || '(empty)'}</code>
            {side.variable.scope === 'both' ? null : (
              <span className="ml-2 text-ink-faint">{scopeLabel[side.variable.scope]}</span>
            )}
          </>
        )}
      </dd>
    </>
  );
}
