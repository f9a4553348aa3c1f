'use client';
// Starts a benchmark: app, plan and load. Shows the estimated time and warns that it creates real load.
import { distributedLoadMs } from '@fairlead/core/benchmark/distribution';
import { copiesRelease, mayChangeData } from '@fairlead/core/benchmark/load';
import { loadMs } from '@fairlead/core/benchmark/plan';
import { Button } from '@fairlead/ui/button';
import { Dialog, DialogFooter } from '@fairlead/ui/dialog';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Field, Select } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { type FormEvent, useId, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary, SavedPlan, ServerSummary } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { FormNote } from './form-note.tsx';
import { LoadServerFields } from './load-server-fields.tsx';
import { draftOf, type PlanDraft, planOf, withLoadServers } from './plan-draft.ts';
import { PlanFields } from './plan-fields.tsx';
import { measurableFirst, whyNotMeasured } from './results.ts';
import { SavePlan } from './save-plan.tsx';
import { usePlanErrors } from './use-plan-errors.ts';

const APPS_SHOWN = 100;
const PLANS_SHOWN = 100;

export interface StartDialogProps {
  /** Slug of the preselected app; any other value, or one that can't be measured, selects the first. */
  readonly app: string;
  /** Id of the preselected plan; empty: none. */
  readonly plan: string;
  readonly onClose: () => void;
}

export function StartDialog({ app, plan, onClose }: StartDialogProps) {
  const trpc = useTRPC();
  const apps = useQuery(trpc.app.list.queryOptions({ limit: APPS_SHOWN }));
  const saved = useQuery({ ...trpc.benchmarkPlan.get.queryOptions({ planId: plan }), enabled: plan !== '' });
  return (
    <Dialog open onClose={onClose} title="Start benchmark" detail="It sends real requests to each target in turns.">
      <QueryView query={apps} skeleton={<Skeleton className="h-96" />}>
        {({ items }) => {
          if (!items.some((each) => whyNotMeasured(each) === null)) {
            return <p>No running app with a domain yet. Deploy an app first.</p>;
          }
          if (saved.isLoading) return <Skeleton className="h-96" />;
          return (
            <StartForm apps={measurableFirst(items)} chosen={app} chosenPlan={saved.data ?? null} onClose={onClose} />
          );
        }}
      </QueryView>
    </Dialog>
  );
}

interface StartFormProps {
  readonly apps: readonly AppSummary[];
  readonly chosen: string;
  readonly chosenPlan: SavedPlan | null;
  readonly onClose: () => void;
}

function StartForm({ apps, chosen, chosenPlan, onClose }: StartFormProps) {
  const { formatMs } = useFormats();
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const create = useMutation(trpc.benchmark.create.mutationOptions());
  const preselected = apps.find((each) => each.slug === chosen && whyNotMeasured(each) === null) ?? apps[0];
  const [appId, setAppId] = useState<string>(preselected?.id ?? '');
  const [saved, setSaved] = useState(chosenPlan?.appId === appId ? chosenPlan : null);
  // Key of the form: a chosen plan renders its fields anew.
  const [form, setForm] = useState(0);
  const [draft, setDraft] = useState(() => draftOf(saved?.plan));
  const plans = useQuery(trpc.benchmarkPlan.list.queryOptions({ appId, limit: PLANS_SHOWN })).data?.items ?? [];
  const { plan, isComplete } = planOf(draft);
  const app = apps.find(({ id }) => id === appId);
  const changesData = mayChangeData(plan);
  const copies = copiesRelease(plan);
  const [isConfirmed, setConfirmed] = useState(false);
  const needsConfirmation = (changesData || copies) && !isConfirmed;
  const [isConfirmationDue, setConfirmationDue] = useState(false);
  const [loadServerIds, setLoadServerIds] = useState(() => loadServerIdsOf(saved));
  const errors = usePlanErrors(draft, { appId, plan, loadServerIds });
  const estimateMs = loadServerIds.length === 0 ? loadMs : distributedLoadMs;

  const choose = (planId: string) => {
    const found = plans.find(({ id }) => id === planId) ?? null;
    setSaved(found);
    if (found === null) return;
    setDraft(draftOf(found.plan));
    setLoadServerIds(loadServerIdsOf(found));
    setConfirmed(false);
    setForm((count) => count + 1);
  };
  // A changed plan is no longer the saved one.
  const change = (next: PlanDraft) => {
    setSaved(null);
    setConfirmed(false);
    setConfirmationDue(false);
    setDraft(loadServerIds.length === 0 ? next : withLoadServers(next));
  };
  const chooseServers = (serverIds: readonly ServerSummary['id'][]) => {
    setLoadServerIds(serverIds);
    setSaved(null);
    if (serverIds.length > 0) setDraft(withLoadServers(draft));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setConfirmationDue(needsConfirmation);
    if (!errors.check() || needsConfirmation) return;
    const input = saved === null ? { appId, plan } : { ...planInput(saved), plan: saved.plan };
    const shared = loadServerIds.length === 0 ? {} : { loadServerIds: [...loadServerIds] };
    create.mutate(
      { ...input, ...shared },
      { onSuccess: ({ runId }) => router.push(paths.benchmark(runId)), onError: (error) => errors.refuse(error) },
    );
  };

  return (
    <form ref={errors.form} onSubmit={submit} noValidate className="flex flex-col gap-4">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field label="App" error={errors.fields.appId}>
          {(control) => (
            <Select
              {...control}
              autoFocus
              value={appId}
              onChange={(event) => {
                setAppId(event.target.value);
                setLoadServerIds([]);
                setSaved(null);
                setConfirmed(false);
              }}
            >
              {apps.map((app) => {
                const why = whyNotMeasured(app);
                return (
                  <option key={app.id} value={app.id} disabled={why !== null}>
                    {why === null ? app.name : `${app.name} (${why})`}
                  </option>
                );
              })}
            </Select>
          )}
        </Field>
        <Field label="Plan" hint={plans.length === 0 ? 'This app has no saved plans yet.' : undefined}>
          {(control) => (
            <Select
              {...control}
              disabled={plans.length === 0}
              value={saved?.id ?? ''}
              onChange={(event) => choose(event.target.value)}
            >
              <option value="">Not saved</option>
              {plans.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <PlanFields
        key={form}
        draft={draft}
        hosts={app?.hosts ?? []}
        isDistributed={loadServerIds.length > 0}
        onDraft={change}
        errorOf={errors.errorOf}
        attempt={errors.attempt}
      />
      <LoadServerFields
        plan={plan}
        ownServerId={app?.serverId}
        chosen={loadServerIds}
        savedServers={[...(chosenPlan?.loadServers ?? []), ...plans.flatMap(({ loadServers }) => loadServers)]}
        error={errors.fields.loadServerIds}
        onChosen={chooseServers}
      />
      <WarnNote>
        {plan.upstream === 'lab'
          ? 'Apps on the server feel the load: the lab uses all of its cores while it runs.'
          : `Visitors of the app feel the load${loadServerIds.length === 0 ? '' : ', and so do apps on the load servers'}: their requests are slower while it runs.`}
      </WarnNote>
      {changesData || copies ? (
        <Confirmation
          isMissing={isConfirmationDue && needsConfirmation}
          label={copies ? 'Start a copy of the live release' : 'Send requests that may change data'}
          hint={
            copies
              ? `It runs the code of ${app?.name ?? 'the app'} with its settings and secrets, so it uses the same databases and queues. Fairlead does not undo what it changes there.`
              : `${app?.name ?? 'The app'} receives them during the whole run. Fairlead does not undo what they write or delete.`
          }
          checked={isConfirmed}
          onConfirmed={setConfirmed}
        />
      ) : null}
      <FormNote note={errors.note} />
      {saved === null ? (
        <SavePlan
          appId={appId}
          plan={plan}
          loadServerIds={loadServerIds}
          check={() => {
            setConfirmationDue(false);
            return errors.check();
          }}
          onRefused={(error) => errors.refuse(error, false)}
          onSaved={(made) => setSaved(made)}
        />
      ) : null}
      <DialogFooter>
        <span className="mr-auto text-sm text-ink-faint">
          {isComplete ? `Takes about ${formatMs(estimateMs(plan))}.` : null}
        </span>
        <Button onClick={onClose}>Cancel</Button>
        <SubmitButton variant="accent" pending={create.isPending}>
          Start
        </SubmitButton>
      </DialogFooter>
    </form>
  );
}

interface ConfirmationProps {
  readonly label: string;
  readonly hint: string;
  readonly checked: boolean;
  readonly isMissing: boolean;
  readonly onConfirmed: (isConfirmed: boolean) => void;
}

function Confirmation({ label, hint, checked, isMissing, onConfirmed }: ConfirmationProps) {
  const errorId = useId();
  return (
    <div className="flex flex-col gap-1">
      <Checkbox
        {...{ label, hint, checked }}
        aria-invalid={isMissing ? true : undefined}
        {...(isMissing ? { 'aria-describedby': errorId } : {})}
        onChange={({ target }) => onConfirmed(target.checked)}
      />
      {isMissing ? (
        <p id={errorId} role="alert" className="pl-6.5 text-bad-text text-sm">
          Check this box to start the benchmark.
        </p>
      ) : null}
    </div>
  );
}

function loadServerIdsOf(saved: SavedPlan | null): readonly ServerSummary['id'][] {
  return saved === null ? [] : saved.loadServers.map(({ serverId }) => serverId);
}

function planInput({ id, appId, environmentId }: SavedPlan) {
  return { appId, environmentId, planId: id };
}
