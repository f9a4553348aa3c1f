'use client';
// Starts a benchmark: app, load and duration. Shows the estimated time and warns that it creates real load.
import type { Threshold } from '@fairlead/core/benchmark/schema';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { Skeleton } from '@fairlead/ui/skeleton';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQuery } from '@tanstack/react-query';
import dynamic from 'next/dynamic';
import { useRouter } from 'next/navigation';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary } from '../../api/types.ts';
import { fieldError } from '../../common/form/field-error.ts';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { ALL_METRICS } from '../../common/threshold/threshold-draft.ts';
import {
  estimateMs,
  measurableFirst,
  parseConcurrency,
  protocolLabel,
  targetLabel,
  whyNotMeasured,
} from './results.ts';

const ThresholdFields = dynamic(
  () => import('../../common/threshold/threshold-fields.tsx').then((module) => module.ThresholdFields),
  { ssr: false },
);

const APPS_SHOWN = 100;
const WARMUP_MS = 500;

export interface StartDialogProps {
  /** Slug of the preselected app; any other value, or one that can't be measured, selects the first. */
  readonly app: string;
  readonly onClose: () => void;
}

export function StartDialog({ app, onClose }: StartDialogProps) {
  const trpc = useTRPC();
  const apps = useQuery(trpc.app.list.queryOptions({ limit: APPS_SHOWN }));
  return (
    <Dialog
      open
      onClose={onClose}
      title="Start benchmark"
      detail="It sends real requests from the app's own server, through the proxy and directly, in turns."
    >
      <QueryView query={apps} skeleton={<Skeleton className="h-72" />}>
        {({ items }) =>
          items.some((each) => whyNotMeasured(each) === null) ? (
            <StartForm apps={measurableFirst(items)} chosen={app} onClose={onClose} />
          ) : (
            <p>No running app with a domain yet. Deploy an app first.</p>
          )
        }
      </QueryView>
    </Dialog>
  );
}

interface StartFormProps {
  readonly apps: readonly AppSummary[];
  readonly chosen: string;
  readonly onClose: () => void;
}

function StartForm({ apps, chosen, onClose }: StartFormProps) {
  const { formatMs } = useFormats();
  const { paths } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const create = useMutation(trpc.benchmark.create.mutationOptions());
  const preselected = apps.find((each) => each.slug === chosen && whyNotMeasured(each) === null) ?? apps[0];
  const [appId, setAppId] = useState<string>(preselected?.id ?? '');
  const [path, setPath] = useState('/');
  const [concurrency, setConcurrency] = useState('1, 8, 32');
  const [seconds, setSeconds] = useState('2');
  const [repeats, setRepeats] = useState('3');
  const [thresholds, setThresholds] = useState<Threshold[] | null>([]);
  const [protocols, setProtocols] = useState({ http1: true, http2: true, http3: false });
  const failure = create.error === null ? null : readFailure(create.error);
  const levels = parseConcurrency(concurrency);

  const plan = {
    path,
    targets: ['proxy' as const, 'direct' as const],
    protocols: (['http1', 'http2', 'http3'] as const).filter((protocol) => protocols[protocol]),
    concurrency: levels ?? [],
    repeats: Number(repeats),
    durationMs: Number(seconds) * 1000,
    warmupMs: WARMUP_MS,
    thresholds: thresholds ?? [],
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ appId, plan }, { onSuccess: ({ runId }) => router.push(paths.benchmark(runId)) });
  };

  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field label="App" error={failure?.fields.appId}>
          {(control) => (
            <Select {...control} autoFocus value={appId} onChange={(event) => setAppId(event.target.value)}>
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
        <Field label="Path" error={failure?.fields['plan.path']}>
          {(control) => <Input {...control} mono value={path} onChange={(event) => setPath(event.target.value)} />}
        </Field>
        <Field
          label="Concurrency"
          hint="Up to eight numbers, each at most 1024."
          error={levels === null ? 'Enter numbers such as 1, 8, 32.' : failure?.fields['plan.concurrency']}
          className="sm:col-span-2"
        >
          {(control) => (
            <Input {...control} mono value={concurrency} onChange={(event) => setConcurrency(event.target.value)} />
          )}
        </Field>
        <Field label="Seconds per run" error={failure?.fields['plan.durationMs']}>
          {(control) => (
            <Select {...control} value={seconds} onChange={(event) => setSeconds(event.target.value)}>
              {['1', '2', '5', '10', '30'].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Rounds" hint="Intervals need at least three." error={failure?.fields['plan.repeats']}>
          {(control) => (
            <Select {...control} value={repeats} onChange={(event) => setRepeats(event.target.value)}>
              {['1', '3', '5', '9'].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
        <legend className="mb-1.5 font-medium">Protocols</legend>
        <Checkbox
          label="HTTP/1.1"
          checked={protocols.http1}
          onChange={(event) => setProtocols({ ...protocols, http1: event.target.checked })}
        />
        <Checkbox
          label="HTTP/2"
          checked={protocols.http2}
          onChange={(event) => setProtocols({ ...protocols, http2: event.target.checked })}
        />
        <Checkbox
          label="HTTP/3"
          checked={protocols.http3}
          onChange={(event) => setProtocols({ ...protocols, http3: event.target.checked })}
        />
      </fieldset>
      <ThresholdFields
        first={[]}
        metrics={ALL_METRICS}
        rows={{
          targets: plan.targets.map((value) => ({ value, label: targetLabel[value] })),
          protocols: plan.protocols.map((value) => ({ value, label: protocolLabel[value] })),
          concurrency: plan.concurrency,
        }}
        errorOf={(at) => fieldError(failure?.fields ?? {}, 'plan', `thresholds.${at}`)}
        onChange={setThresholds}
      />
      <WarnNote>Visitors of the app feel the load: their requests are slower while it runs.</WarnNote>
      {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
      <footer className="flex flex-wrap items-center justify-end gap-2">
        <span className="mr-auto text-sm text-ink-faint">Takes about {formatMs(estimateMs(plan))}.</span>
        <Button onClick={onClose}>Cancel</Button>
        <SubmitButton
          variant="accent"
          pending={create.isPending}
          disabled={levels === null || plan.protocols.length === 0 || thresholds === null}
        >
          Start
        </SubmitButton>
      </footer>
    </form>
  );
}
