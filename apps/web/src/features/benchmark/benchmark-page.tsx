'use client';
// Benchmark run: progress, charts by concurrency, and a table with ratios. Results appear as they are measured.
import { copiesRelease, isRedacted, mayChangeData } from '@fairlead/core/benchmark/load';
import { SPREAD_MAX } from '@fairlead/core/benchmark/statistics';
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { saveFile } from '@fairlead/ui/lib/save-file';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CircleStop, Download, RotateCcw } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useRouter } from 'next/navigation';
import { LivePage } from '../../api/live.tsx';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { BenchmarkDetail } from '../../api/types.ts';
import { LookPill } from '../../common/deployment/state-view.tsx';
import { benchmarkLook } from '../../common/deployment/states.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { ImportedMark } from './imported-mark.tsx';
import { repeatInput } from './repeat-run.ts';
import { ResultTable } from './result-table.tsx';
import { resultText } from './result-text.ts';
import {
  hasCurve,
  headlineOf,
  protocolLabel,
  scenarioLabel,
  summariseRows,
  targetLabel,
  unstableLines,
} from './results.ts';
import { LinkCard, PercentileCard } from './row-details.tsx';
import { ReleaseChangedNote, RunFacts } from './run-facts.tsx';
import { RunLoad } from './run-load.tsx';
import { RunMenu } from './run-menu.tsx';
import { RunNotes } from './run-notes.tsx';
import { GeneratorNote, NoiseNote, RunEvents, RunPrograms } from './run-programs.tsx';
import { RunServers } from './run-servers.tsx';

/** Page size for all plans of an app: at most 50 of its members, and those of its repository. */
const PLANS_MAX = 100;

const CompareCard = dynamic(() => import('./compare-card.tsx').then((module) => module.CompareCard), { ssr: false });
const ReportCard = dynamic(() => import('./report-card.tsx').then((module) => module.ReportCard), { ssr: false });
const ThresholdCard = dynamic(() => import('./threshold-card.tsx').then((module) => module.ThresholdCard), {
  ssr: false,
  loading: () => <Skeleton className="h-32" />,
});
const ResultCharts = dynamic(() => import('./result-charts.tsx').then((module) => module.ResultCharts), {
  ssr: false,
  loading: () => <Skeleton className="mx-4 mb-4 h-[540px]" />,
});

export function BenchmarkPage({ initial }: { readonly initial: BenchmarkDetail }) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const run = useQuery(trpc.benchmark.get.queryOptions({ runId: initial.id })).data ?? initial;
  const formats = useFormats();
  // The headline is about this server, and an imported run was measured elsewhere.
  const headline = run.origin === null ? headlineOf(run.rows, formats) : null;
  return (
    <LivePage topics={[{ kind: 'benchmark', id: run.id }]}>
      <Page>
        <PageHeader
          breadcrumb={<Crumbs items={[{ title: 'Benchmarks', href: paths.benchmarks }]} />}
          title={run.appName}
          pill={
            <span className="flex items-center gap-2">
              <LookPill look={benchmarkLook[run.state]} />
              {run.origin === null ? null : <ImportedMark />}
            </span>
          }
          detail={<PlanLine run={run} />}
          actions={
            <>
              {run.rows.length === 0 ? null : <DownloadRows run={run} />}
              <BenchmarkActions run={run} />
              <RunMenu run={run} />
            </>
          }
        />
        <div className="flex flex-col gap-6">
          {run.state === 'queued' || run.state === 'running' ? <Progress run={run} /> : null}
          {run.state === 'failed' ? (
            <p role="alert" className="rounded-card bg-bad-wash px-4 py-3 text-bad-text">
              {run.failureMessage ?? 'The benchmark failed.'}
            </p>
          ) : null}
          {run.rows.length === 0 ? null : (
            <>
              <ReleaseChangedNote facts={run.facts} />
              <StabilityNote run={run} />
              <GeneratorNote rows={run.rows} />
              <NoiseNote rows={run.rows} />
              {run.thresholds.length === 0 ? null : <ThresholdCard run={run} />}
              {headline === null ? null : <p className="text-pretty font-semibold text-lg">{headline}</p>}
              {hasCurve(run.rows) ? (
                <Card>
                  <CardHeader
                    title="By concurrency"
                    detail={run.plan.repeats > 1 ? `Bands span ${run.plan.repeats} rounds` : undefined}
                  />
                  <ResultCharts rows={run.rows} />
                </Card>
              ) : null}
              <Card>
                <CardHeader title="Results" detail={resultText(run.rows, summariseRows(run.rows), formats)} />
                <ResultTable rows={run.rows} />
              </Card>
            </>
          )}
          <RunServers servers={run.servers} rows={run.rows} />
          <LinkCard rows={run.rows} />
          <PercentileCard rows={run.rows} />
          <RunPrograms programs={run.programs} />
          <RunEvents events={run.events} />
          <RunNotes run={run} />
          <RunLoad {...run.plan} />
          <RunFacts run={run} />
          {run.rows.length === 0 ? null : <CompareCard run={run} />}
          {run.rows.length === 0 || run.state === 'queued' || run.state === 'running' ? null : <ReportCard run={run} />}
        </div>
      </Page>
    </LivePage>
  );
}

/** Says where the rounds differ too much to name a winner. */
function StabilityNote({ run }: { readonly run: BenchmarkDetail }) {
  if (run.state === 'queued' || run.state === 'running') return null;
  const unstable = unstableLines(summariseRows(run.rows));
  if (unstable.length === 0) return null;
  const cells = unstable.map(
    ({ protocol, target, concurrency }) => `${targetLabel[target]} over ${protocolLabel[protocol]} at ${concurrency}`,
  );
  return (
    <WarnNote>
      Not reproducible: the rounds differ by more than {SPREAD_MAX * 100} % for {cells.join(', ')}. Run it again with
      more rounds, or when the server has less to do.
    </WarnNote>
  );
}

function PlanLine({ run }: { readonly run: BenchmarkDetail }) {
  const { formatDuration, plural } = useFormats();
  const { paths } = useMe();
  const { plan } = run;
  return (
    <span className="flex flex-wrap gap-x-3 gap-y-0.5">
      <span className="min-w-0 break-all font-mono text-sm">
        {plan.host}
        {plan.path}
      </span>
      <span>
        {plan.upstream === 'lab' ? 'Lab, ' : ''}
        {copiesRelease(plan) ? `${copyWords(run)}, ` : ''}
        {plan.scenario === 'matrix' ? '' : `${scenarioLabel[plan.scenario].toLowerCase()}, `}
        {formatDuration(plan.durationMs)} per row, {plural(plan.repeats, 'round')}
      </span>
      {run.serverId === null ? null : (
        <span>
          on{' '}
          <HoverLink href={paths.server(run.serverId)} className="rounded-mark hover:underline">
            {run.serverName}
          </HoverLink>
          {run.servers.length === 0 ? '' : `, load from ${loadNamesOf(run)}`}
        </span>
      )}
      {run.origin === null ? null : (
        <span>
          measured elsewhere, <RelativeTime at={new Date(run.origin.createdAt)} />
        </span>
      )}
      {run.planName === null ? null : (
        <span>
          Plan {run.planName}
          {run.trigger === 'schedule' ? ', by its schedule' : ''}
        </span>
      )}
      {run.origin === null ? <RelativeTime at={run.createdAt} className="text-ink-faint" /> : null}
    </span>
  );
}

function loadNamesOf({ servers }: BenchmarkDetail): string {
  return servers.flatMap(({ name, role }) => (role === 'load' ? [name] : [])).join(', ');
}

function Progress({ run }: { readonly run: BenchmarkDetail }) {
  const { plural } = useFormats();
  const share = run.rowsTotal === 0 ? 0 : run.rowsDone / run.rowsTotal;
  return (
    <Card className="px-4 py-3.5">
      <div className="flex items-baseline justify-between gap-4">
        <span className="font-medium">{run.state === 'queued' ? waitText(run, plural) : 'Measuring'}</span>
        <span className="tabular font-mono text-sm text-ink-soft">
          {run.rowsDone} of {run.rowsTotal}
        </span>
      </div>
      <progress className="sr-only" max={run.rowsTotal} value={run.rowsDone}>
        {run.rowsDone} of {run.rowsTotal}
      </progress>
      <div aria-hidden="true" className="mt-2.5 h-1.5 overflow-hidden rounded-full bg-line">
        <div
          className="h-full rounded-full bg-busy transition-[width] duration-180"
          style={{ width: `${share * 100}%` }}
        />
      </div>
    </Card>
  );
}

function waitText({ aheadInQueue, servers }: BenchmarkDetail, plural: Formats['plural']): string {
  if (aheadInQueue === null || aheadInQueue === 0) {
    return servers.length === 0 ? 'Waiting for the server' : 'Waiting for the servers';
  }
  return `Waiting behind ${plural(aheadInQueue, 'other run')}`;
}

/** Saves the run with its raw rows, in the format of docs/benchmarks/run.schema.json. */
function DownloadRows({ run }: { readonly run: BenchmarkDetail }) {
  const client = useTRPCClient();
  const download = useAction(
    useMutation({ mutationFn: () => client.benchmark.export.query({ runId: run.id }) }),
    "The rows weren't downloaded",
    (document) =>
      saveFile(
        `${JSON.stringify(document, null, 2)}\n`,
        `fairlead-benchmark-${run.appSlug}-${run.id}.json`,
        'application/json',
      ),
  );
  return (
    <Button
      icon={<Download size={15} aria-hidden="true" />}
      pending={download.pending}
      onClick={() => download.run(undefined)}
    >
      Download rows
    </Button>
  );
}

function BenchmarkActions({ run }: { readonly run: BenchmarkDetail }) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const client = useTRPCClient();
  const router = useRouter();
  const toast = useToast();
  const queryClient = useQueryClient();
  const cancel = useAction(
    useMutation(trpc.benchmark.cancel.mutationOptions()),
    "The benchmark wasn't cancelled",
    () => {
      toast({ tone: 'warn', title: 'Cancelled', detail: 'Results so far are kept.' });
      void queryClient.invalidateQueries(trpc.benchmark.pathFilter());
    },
  );
  const again = useAction(
    useMutation({
      mutationFn: async () => {
        const { appId, environmentId, planName } = run;
        const where = { appId, environmentId, limit: PLANS_MAX };
        const plans = planName === null ? [] : (await client.benchmarkPlan.list.query(where)).items;
        const input = repeatInput(run, plans);
        const { runId } = await client.benchmark.create.mutate(input);
        return { runId, lostPlan: input.planId === undefined ? planName : null };
      },
    }),
    "The benchmark didn't start",
    ({ runId, lostPlan }) => {
      if (lostPlan !== null) {
        const detail = `The plan ${lostPlan} was changed or deleted. This run repeats the earlier load without its name.`;
        toast({ tone: 'warn', title: 'Benchmark started', detail });
      }
      router.push(paths.benchmark(runId));
    },
  );
  // The host of an imported run may belong to another organization.
  if (!can('benchmark.write') || run.origin !== null) return null;
  // Only the dialog can start such a run again: it lacks parts of its load, or needs a confirmation.
  if (!run.canCancel && needsDialog(run.plan)) return null;
  return run.canCancel ? (
    <Button
      icon={<CircleStop size={15} aria-hidden="true" />}
      pending={cancel.pending}
      onClick={() => cancel.run({ runId: run.id })}
    >
      Cancel
    </Button>
  ) : (
    <Button
      variant="accent"
      icon={<RotateCcw size={15} aria-hidden="true" />}
      pending={again.pending}
      onClick={() => again.run(undefined)}
    >
      Run again
    </Button>
  );
}

function copyWords({ facts }: BenchmarkDetail): string {
  return facts?.release ? `copy of release #${facts.release.number}` : 'copy of a release';
}

function needsDialog(plan: BenchmarkDetail['plan']): boolean {
  return isRedacted(plan) || copiesRelease(plan) || mayChangeData(plan);
}
