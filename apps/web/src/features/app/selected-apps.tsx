'use client';
// Actions on the selected apps. Each app is one call of its own with its own rights, so one failure does not stop the others.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { type Formats, useFormats } from '@fairlead/ui/formats';
import { StateText } from '@fairlead/ui/state-pill';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RotateCcw, RotateCw } from 'lucide-react';
import { useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppSummary } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import type { Selection } from './use-selection.ts';

/** Bounds the calls of one action. */
export const SELECTED_MAX = 50;

type BatchAction = 'restart' | 'redeploy';

const TEXT = {
  restart: {
    verb: 'Restart',
    detail: 'New instances of each live release take over when they are healthy. No request is lost.',
    done: 'Restart requested',
  },
  redeploy: {
    verb: 'Redeploy',
    detail: 'The last deployment of each app runs again, with its commit and the current settings.',
    done: 'Redeployment requested',
  },
} as const;

export function SelectedApps({ selection }: { readonly selection: Selection<AppSummary> }) {
  const { plural } = useFormats();
  const [action, setAction] = useState<BatchAction | null>(null);
  const { items } = selection;
  return (
    <>
      {items.length === 0 ? null : (
        <section
          aria-label="Selected apps"
          // Below the list, so that no row moves under the pointer.
          className="sticky bottom-4 z-20 mt-4 flex flex-wrap items-center gap-2 rounded-card border border-line bg-raised py-2 pr-2 pl-4 shadow-float"
        >
          <p role="status" className="mr-auto font-medium">
            {plural(items.length, 'app')} selected
            {selection.isFull ? (
              <span className="ml-2 font-normal text-ink-faint">At most {SELECTED_MAX} at once.</span>
            ) : null}
          </p>
          <Button icon={<RotateCw size={15} aria-hidden="true" />} onClick={() => setAction('restart')}>
            Restart
          </Button>
          <Button icon={<RotateCcw size={15} aria-hidden="true" />} onClick={() => setAction('redeploy')}>
            Redeploy
          </Button>
          <Button variant="ghost" onClick={selection.clear}>
            Clear selection
          </Button>
        </section>
      )}
      {action === null ? null : (
        <BatchDialog
          action={action}
          apps={items}
          onClose={(done) => {
            setAction(null);
            if (done) selection.clear();
          }}
        />
      )}
    </>
  );
}

type Outcome = { readonly deploymentId: string } | { readonly message: string };

interface BatchDialogProps {
  readonly action: BatchAction;
  readonly apps: readonly AppSummary[];
  readonly onClose: (done: boolean) => void;
}

function BatchDialog({ action, apps, onClose }: BatchDialogProps) {
  const formats = useFormats();
  const { plural } = formats;
  const { verb, detail } = TEXT[action];
  const { outcomes, running, run } = useBatch(action, apps);
  const done = outcomes.size === apps.length;
  const failed = [...outcomes.values()].filter((outcome) => 'message' in outcome).length;
  return (
    <Dialog
      open
      onClose={() => onClose(done)}
      title={`${verb} ${plural(apps.length, 'app')}`}
      detail={detail}
      footer={
        done ? (
          <Button onClick={() => onClose(true)}>Done</Button>
        ) : (
          <>
            <Button onClick={() => onClose(false)}>Cancel</Button>
            <Button variant="accent" pending={running} onClick={run}>
              {verb} {plural(apps.length, 'app')}
            </Button>
          </>
        )
      }
    >
      <ul className="flex max-h-80 flex-col gap-2 overflow-y-auto">
        {apps.map((app) => (
          <li key={app.id} className="flex items-baseline gap-3">
            <span className="min-w-0 flex-1">
              <span className="font-medium">{app.name}</span>{' '}
              <span className="text-ink-faint text-sm">{app.environmentName}</span>
            </span>
            <OutcomeText action={action} outcome={outcomes.get(app.id)} />
          </li>
        ))}
      </ul>
      <p role="status" className="mt-3 text-ink-soft empty:hidden">
        {done ? summaryText(apps.length, failed, formats) : ''}
      </p>
    </Dialog>
  );
}

function summaryText(all: number, failed: number, { plural, formatInteger }: Formats): string {
  const requested = `Requested for ${plural(all - failed, 'app')}`;
  return failed === 0 ? `${requested}.` : `${requested}, failed for ${formatInteger(failed)}.`;
}

function OutcomeText({ action, outcome }: { readonly action: BatchAction; readonly outcome: Outcome | undefined }) {
  const { paths } = useMe();
  if (outcome === undefined) return null;
  if ('message' in outcome) {
    return (
      <span className="max-w-64 text-right text-sm">
        <StateText tone="bad">Failed</StateText> <span className="text-ink-soft">{outcome.message}</span>
      </span>
    );
  }
  return (
    <HoverLink href={paths.deployment(outcome.deploymentId)} className="shrink-0 text-accent-text hover:underline">
      {TEXT[action].done}
    </HoverLink>
  );
}

/** Runs the calls one after another, as one person could, and keeps the result of each. */
function useBatch(action: BatchAction, apps: readonly AppSummary[]) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const restart = useMutation(trpc.deployment.restart.mutationOptions());
  const redeploy = useMutation(trpc.deployment.redeploy.mutationOptions());
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [running, setRunning] = useState(false);
  const callOf = async ({ id: appId, environmentId, lastDeployment }: AppSummary): Promise<Outcome> => {
    if (action === 'restart') return restart.mutateAsync({ appId, environmentId });
    if (lastDeployment === null) return { message: 'It was never deployed.' };
    return redeploy.mutateAsync({ deploymentId: lastDeployment.id });
  };
  const run = async () => {
    setRunning(true);
    for (const app of apps) {
      const outcome = await callOf(app).catch((error: unknown): Outcome => ({ message: readFailure(error).message }));
      setOutcomes((before) => new Map(before).set(app.id, outcome));
    }
    setRunning(false);
    void queryClient.invalidateQueries(trpc.app.pathFilter());
  };
  return { outcomes, running, run: () => void run() };
}
