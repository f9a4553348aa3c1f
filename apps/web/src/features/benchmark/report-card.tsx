'use client';
// Public report of a benchmark run: publishes it as a page without sign-in, shows its link, and unpublishes it.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { CopyButton } from '@fairlead/ui/copy-button';
import { useFormats } from '@fairlead/ui/formats';
import { Checkbox } from '@fairlead/ui/input';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ExternalLink, Globe } from 'lucide-react';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { BenchmarkDetail, ReportPreview, ReportState } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { QueryView } from '../../common/page/query-view.tsx';

export function ReportCard({ run }: { readonly run: BenchmarkDetail }) {
  const { can } = useMe();
  const trpc = useTRPC();
  const [asking, setAsking] = useState(false);
  const report = useQuery(trpc.benchmark.report.queryOptions({ runId: run.id })).data;
  const mayPublish = can('benchmark.publish');
  if (report === undefined || (report === null && !mayPublish)) return null;
  return (
    <Card>
      <CardHeader
        title="Public report"
        detail={report === null ? 'A page without sign-in. Names, hosts and paths are left out.' : undefined}
        action={
          report === null ? (
            <Button icon={<Globe size={15} aria-hidden="true" />} onClick={() => setAsking(true)}>
              Publish report
            </Button>
          ) : mayPublish ? (
            <Unpublish run={run} />
          ) : null
        }
      />
      {report === null ? null : <Published report={report} />}
      {asking ? <PublishDialog run={run} onClose={() => setAsking(false)} /> : null}
    </Card>
  );
}

function Published({ report }: { readonly report: ReportState }) {
  const url = `${location.origin}/reports/${report.id}`;
  return (
    <div className="flex flex-col gap-1 border-line border-t px-4 py-3">
      <div className="flex min-w-0 items-center gap-2">
        <a
          href={url}
          target="_blank"
          rel="noreferrer"
          className="inline-flex min-w-0 items-center gap-1.5 rounded-mark font-mono text-sm hover:underline"
        >
          <span className="truncate">{url}</span>
          <ExternalLink size={13} aria-hidden="true" className="flex-none" />
          <span className="sr-only">(opens in a new tab)</span>
        </a>
        <CopyButton value={url} label="Copy link" />
      </div>
      <p className="text-ink-faint text-sm">
        Published <RelativeTime at={report.publishedAt} />. Anyone with the link can see it
        {report.isIndexed ? ', and search engines may list it' : ''}.
      </p>
    </div>
  );
}

function Unpublish({ run }: { readonly run: BenchmarkDetail }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const unpublish = useAction(
    useMutation(trpc.benchmark.unpublish.mutationOptions()),
    "The report wasn't unpublished",
    () => {
      toast({ title: 'Unpublished', detail: 'The link no longer works.' });
      void queryClient.invalidateQueries(trpc.benchmark.report.queryFilter());
    },
  );
  return (
    <Button pending={unpublish.pending} onClick={() => unpublish.run({ runId: run.id })}>
      Unpublish
    </Button>
  );
}

function PublishDialog({ run, onClose }: { readonly run: BenchmarkDetail; readonly onClose: () => void }) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [isIndexed, setIsIndexed] = useState(false);
  const preview = useQuery(trpc.benchmark.previewReport.queryOptions({ runId: run.id }));
  const publish = useFreshMutation(trpc.benchmark.publish.mutationOptions());
  const confirm = () =>
    publish.mutate(
      { runId: run.id, isIndexed },
      {
        onSuccess: () => {
          void queryClient.invalidateQueries(trpc.benchmark.report.queryFilter());
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title="Publish report"
      action="Publish report"
      variant="accent"
      disabled={preview.data === undefined}
      pending={publish.isPending}
      error={publish.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        Anyone with the link sees these facts, all charts, every row, and the versions and configurations of proxies:
      </p>
      <QueryView query={preview} skeleton={<SkeletonRows rows={3} />}>
        {(facts) => <PreviewFacts facts={facts} />}
      </QueryView>
      <p>
        Left out: names of the app, server, organization and people, the host and the path, ids, the release with its
        commit, and settings. Later changes of the run don't change the report.
      </p>
      <Checkbox
        label="Let search engines list the page"
        checked={isIndexed}
        onChange={(event) => setIsIndexed(event.target.checked)}
      />
    </ConfirmDialog>
  );
}

function PreviewFacts({ facts }: { readonly facts: ReportPreview }) {
  const { formatBytes, formatInteger, plural } = useFormats();
  const { machine } = facts;
  const system = machine === null ? [] : [machine.os, machine.kernel, machine.arch];
  const items = [
    { term: 'Title', value: facts.title },
    { term: 'Raw rows', value: formatInteger(facts.rows) },
    { term: 'Targets', value: facts.targets.join(', ') },
    ...(facts.agentVersion === null ? [] : [{ term: 'Agent', value: facts.agentVersion }]),
    ...(machine === null
      ? []
      : [
          { term: 'Machine', value: `${plural(machine.cpuCount, 'core')}, ${formatBytes(machine.memoryBytes)}` },
          { term: 'System', value: system.filter((part) => part !== '').join(', ') },
        ]),
  ];
  return <Facts className="grid-cols-2 rounded-control bg-sunken p-3" items={items} />;
}
