'use client';
// Job queue of the control plane: counts by name, and failed jobs with their errors and a retry.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, Table, TableHead } from '@fairlead/ui/table';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { ControlPlaneState } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';

type FailedJob = ControlPlaneState['jobs']['failed'][number];

export function JobsCard({ jobs: { counts, failed } }: Pick<ControlPlaneState, 'jobs'>) {
  return (
    <Card id="job-queue" className="scroll-mt-4">
      <CardHeader title="Job queue" />
      {counts.length === 0 ? (
        <p className="border-line border-t px-4 py-4 text-ink-faint text-sm">The queue is empty. No job has failed.</p>
      ) : (
        <div className="border-line border-t">
          <Table scrollLabel="Jobs by name">
            <TableHead>
              <HeadCell>Job</HeadCell>
              <HeadCell numeric>Waiting</HeadCell>
              <HeadCell numeric>Running</HeadCell>
              <HeadCell numeric>Failed</HeadCell>
              <HeadCell numeric>Oldest waiting</HeadCell>
            </TableHead>
            <tbody>
              {counts.map(({ name, waiting, running, failed: failures, oldestWaiting }) => (
                <Row key={name}>
                  <Cell className="font-mono text-sm">{name}</Cell>
                  <Cell numeric>{waiting}</Cell>
                  <Cell numeric>{running}</Cell>
                  <Cell numeric className={failures === 0 ? '' : 'text-bad-text'}>
                    {failures}
                  </Cell>
                  <Cell numeric>{oldestWaiting === null ? '–' : <RelativeTime at={oldestWaiting} />}</Cell>
                </Row>
              ))}
            </tbody>
          </Table>
        </div>
      )}
      {failed.length === 0 ? null : (
        <section aria-label="Failed jobs">
          <ul>
            {failed.map((job) => (
              <FailedJobRow key={job.id} job={job} />
            ))}
          </ul>
        </section>
      )}
    </Card>
  );
}

function FailedJobRow({ job }: { readonly job: FailedJob }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const retry = useAction(
    useMutation(trpc.controlPlane.retryJob.mutationOptions()),
    "The job wasn't retried",
    ({ name }) => {
      toast({ title: 'Job queued again', detail: `${name} runs as soon as the worker is free.` });
      void queryClient.invalidateQueries(trpc.controlPlane.pathFilter());
    },
  );
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-t px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p>
          <span className="font-mono text-sm">{job.name}</span>{' '}
          <span className="text-ink-faint text-sm">
            failed <RelativeTime at={job.failedAt} />
          </span>
        </p>
        <p className="break-words text-ink-soft text-sm">{job.error}</p>
      </div>
      <Button
        size="small"
        pending={retry.pending}
        aria-label={`Retry ${job.name}`}
        onClick={() => retry.run({ jobId: job.id })}
      >
        Retry
      </Button>
    </li>
  );
}
