'use client';
// Saved benchmark plans of all apps: start, edit, download, upload and delete.
import { Button } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { EmptyState } from '@fairlead/ui/empty-state';
import { useFormats } from '@fairlead/ui/formats';
import { saveFile } from '@fairlead/ui/lib/save-file';
import { MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { PageHeader } from '@fairlead/ui/page-header';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { SkeletonRows } from '@fairlead/ui/skeleton';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { useToast } from '@fairlead/ui/toast';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { Bookmark, CalendarClock, Download, Pause, Pencil, Play, Trash2, Upload } from 'lucide-react';
import dynamic from 'next/dynamic';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { SavedPlan } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { RowMenuCell, RowMenuHead } from '../../common/list/row-menu.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { LoadMore } from '../../common/page/load-more.tsx';
import { Crumbs, Page } from '../../common/page/page.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { documentOf, PLAN_FILE } from './plan-document.ts';
import { protocolLabel } from './results.ts';
import { ScheduleCell } from './schedule-cell.tsx';

const EditPlanDialog = dynamic(() => import('./edit-plan-dialog.tsx').then((module) => module.EditPlanDialog), {
  ssr: false,
});
const UploadPlanDialog = dynamic(() => import('./upload-plan-dialog.tsx').then((module) => module.UploadPlanDialog), {
  ssr: false,
});

const ScheduleDialog = dynamic(() => import('./schedule-dialog.tsx').then((module) => module.ScheduleDialog), {
  ssr: false,
});

type OpenDialog =
  | { readonly kind: 'upload' }
  | { readonly kind: 'edit' | 'schedule' | 'delete'; readonly plan: SavedPlan };

export function PlanListPage() {
  const { can, paths } = useMe();
  const trpc = useTRPC();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const plans = useInfiniteQuery(
    trpc.benchmarkPlan.list.infiniteQueryOptions({}, { getNextPageParam: (page) => page.nextCursor }),
  );
  const upload = can('benchmark.write') ? (
    <Button icon={<Upload size={15} aria-hidden="true" />} onClick={() => setDialog({ kind: 'upload' })}>
      Upload plan
    </Button>
  ) : null;
  return (
    <Page>
      <PageHeader
        breadcrumb={<Crumbs items={[{ title: 'Benchmarks', href: paths.benchmarks }]} />}
        title="Plans"
        actions={upload}
      />
      <Card>
        <QueryView query={plans} skeleton={<SkeletonRows rows={4} />}>
          {(data) => {
            const items = data.pages.flatMap((page) => page.items);
            return items.length === 0 ? (
              <EmptyState icon={<Bookmark size={20} />} title="No saved plans yet" action={upload}>
                A plan keeps the load of a benchmark under a name. Save one when you start a benchmark, or upload a
                file.
              </EmptyState>
            ) : (
              <>
                <PlanRows plans={items} onDialog={setDialog} />
                <LoadMore query={plans} />
              </>
            );
          }}
        </QueryView>
      </Card>
      {dialog?.kind === 'upload' ? <UploadPlanDialog onClose={close} /> : null}
      {dialog?.kind === 'edit' ? <EditPlanDialog plan={dialog.plan} onClose={close} /> : null}
      {dialog?.kind === 'schedule' ? <ScheduleDialog plan={dialog.plan} onClose={close} /> : null}
      {dialog?.kind === 'delete' ? <DeletePlanDialog plan={dialog.plan} onClose={close} /> : null}
    </Page>
  );
}

interface PlanRowsProps {
  readonly plans: readonly SavedPlan[];
  readonly onDialog: (dialog: OpenDialog) => void;
}

function PlanRows({ plans, onDialog }: PlanRowsProps) {
  const { paths, can } = useMe();
  const { formatDuration, plural } = useFormats();
  const router = useRouter();
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const refresh = () => void queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter());
  const pause = useAction(
    // A refusal may have come from a change of the plan.
    useMutation(trpc.benchmarkPlan.pauseSchedule.mutationOptions({ onError: refresh })),
    "The schedule wasn't changed",
    refresh,
  );
  const mayWrite = can('benchmark.write');
  return (
    <Table>
      <TableHead>
        <HeadCell>Plan</HeadCell>
        <HeadCell>App</HeadCell>
        <HeadCell className="max-md:hidden">Load</HeadCell>
        <HeadCell>Schedule</HeadCell>
        <HeadCell numeric className="max-lg:hidden">
          Changed
        </HeadCell>
        <RowMenuHead />
      </TableHead>
      <tbody>
        {plans.map((saved) => {
          const { id, name, appName, appSlug, environmentId, environmentName, plan, isFromRepository } = saved;
          return (
            <Row key={id}>
              <Cell className="w-full max-w-0">
                {mayWrite ? (
                  <HoverLink href={paths.runPlan(appSlug, id)} {...rowLink}>
                    {name}
                  </HoverLink>
                ) : (
                  name
                )}
                {isFromRepository ? <span className="block text-xs text-ink-faint">From the repository</span> : null}
                <span className="block truncate font-mono text-xs text-ink-faint">
                  {plan.host}
                  {plan.path}
                </span>
              </Cell>
              <Cell className="whitespace-nowrap">
                <HoverLink href={paths.app(appSlug, environmentId)} className="relative z-10 hover:underline">
                  {appName}
                </HoverLink>
                <span className="block text-xs text-ink-faint">{environmentName}</span>
              </Cell>
              <Cell className="whitespace-nowrap max-md:hidden">
                {plan.protocols.map((protocol) => protocolLabel[protocol]).join(', ')}
                <span className="block text-xs text-ink-faint">
                  Concurrency {plan.concurrency.join(', ')}; {formatDuration(plan.durationMs)},{' '}
                  {plural(plan.repeats, 'round')}
                </span>
                <LoadServersLine loadServers={saved.loadServers} />
              </Cell>
              <Cell>
                <ScheduleCell schedule={saved.schedule} />
              </Cell>
              <Cell numeric className="max-lg:hidden">
                <RelativeTime at={saved.updatedAt} className="font-sans text-ink-soft" />
              </Cell>
              <RowMenuCell name={name}>
                {mayWrite ? (
                  <>
                    <MenuItem icon={<Play size={15} />} onSelect={() => router.push(paths.runPlan(appSlug, id))}>
                      Start benchmark
                    </MenuItem>
                    <MenuItem icon={<Pencil size={15} />} onSelect={() => onDialog({ kind: 'edit', plan: saved })}>
                      {isFromRepository ? 'Edit load servers' : 'Edit'}
                    </MenuItem>
                    <MenuItem
                      icon={<CalendarClock size={15} />}
                      onSelect={() => onDialog({ kind: 'schedule', plan: saved })}
                    >
                      Schedule
                    </MenuItem>
                    {saved.schedule === null ? null : (
                      <MenuItem
                        icon={saved.schedule.paused ? <Play size={15} /> : <Pause size={15} />}
                        onSelect={() =>
                          pause.run({ planId: id, version: saved.version, paused: !saved.schedule?.paused })
                        }
                      >
                        {saved.schedule.paused ? 'Resume schedule' : 'Pause schedule'}
                      </MenuItem>
                    )}
                  </>
                ) : null}
                <MenuItem
                  icon={<Download size={15} />}
                  onSelect={() => saveFile(documentOf(saved), PLAN_FILE, 'application/json')}
                >
                  Download
                </MenuItem>
                {mayWrite && !isFromRepository ? (
                  <>
                    <MenuSeparator />
                    <MenuItem
                      danger
                      icon={<Trash2 size={15} />}
                      onSelect={() => onDialog({ kind: 'delete', plan: saved })}
                    >
                      Delete
                    </MenuItem>
                  </>
                ) : null}
              </RowMenuCell>
            </Row>
          );
        })}
      </tbody>
    </Table>
  );
}

function LoadServersLine({ loadServers }: Pick<SavedPlan, 'loadServers'>) {
  if (loadServers.length === 0) return null;
  const names = loadServers.map(({ name }) => name ?? 'deleted server').join(', ');
  const isMissing = loadServers.some(({ name }) => name === null);
  return (
    <span
      title={names}
      className={`block max-w-64 truncate text-xs ${isMissing ? 'text-warn-text' : 'text-ink-faint'}`}
    >
      Load from {names}
    </span>
  );
}

function DeletePlanDialog({ plan, onClose }: { readonly plan: SavedPlan; readonly onClose: () => void }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const remove = useMutation(trpc.benchmarkPlan.delete.mutationOptions());
  const confirm = () =>
    remove.mutate(
      { planId: plan.id },
      {
        onSuccess: () => {
          toast({ title: 'Plan deleted' });
          void queryClient.invalidateQueries(trpc.benchmarkPlan.pathFilter());
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title={`Delete the plan ${plan.name}`}
      action="Delete plan"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>Its runs and their results stay, its schedule is deleted with it. Runs that wait in the queue still start.</p>
    </ConfirmDialog>
  );
}
