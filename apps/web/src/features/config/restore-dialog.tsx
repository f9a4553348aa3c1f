'use client';
// Dialog that restores a version of the settings: what would change, what is left out, and the result with Undo.
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { useFormats } from '@fairlead/ui/formats';
import { Skeleton } from '@fairlead/ui/skeleton';
import { useToast } from '@fairlead/ui/toast';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppDetail, Config, Outputs } from '../../api/types.ts';
import { namedSetting } from '../../common/app/setting-fields.ts';
import { failureToast } from '../../common/form/use-action.ts';
import { useFreshMutation, wasCancelled } from '../../common/identity/confirm-identity.tsx';
import { QueryView } from '../../common/page/query-view.tsx';
import { ChangeRows } from './change-rows.tsx';
import { effectText, settingsLines } from './changes.ts';

type LeftOut = Outputs['config']['getVersion']['leftOut'][number];

interface RestoreDialogProps {
  readonly app: AppDetail;
  /** Current settings. */
  readonly config: Config;
  /** Number of the version. */
  readonly number: number;
  readonly onClose: () => void;
}

export function RestoreDialog({ app, config, number, onClose }: RestoreDialogProps) {
  const trpc = useTRPC();
  const formats = useFormats();
  const where = { appId: app.id, environmentId: app.environmentId };
  const version = useQuery(trpc.config.getVersion.queryOptions({ ...where, number }));
  const leftOut = version.data?.leftOut.map(({ name }) => name) ?? [];
  const { restore, pending, message } = useRestore({ app, number, leftOut, from: config.number, onDone: onClose });
  const lines = version.data === undefined ? [] : settingsLines(config.settings, version.data.settings, formats);
  const effect = effectText(lines.map((line) => line.effect));
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Restore version ${number}?`}
      detail="Saves the settings of this version as a new version. The name, repository, branch, root folder, number of instances and secrets don't change."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="accent" pending={pending} disabled={lines.length === 0} onClick={() => restore(effect)}>
            Restore version
          </Button>
        </>
      }
    >
      <QueryView query={version} skeleton={<Skeleton className="h-48" />}>
        {({ leftOut }) => (
          <div className="flex flex-col gap-4">
            {lines.length === 0 ? (
              <p className="text-ink-soft">Version {number} has the same settings as the current version.</p>
            ) : (
              <section aria-label="Changes">
                <p className="mb-2 text-ink-soft">
                  {formats.plural(lines.length, 'setting changes', 'settings change')}. Left: current value. Right:
                  value in version {number}. {effect}
                </p>
                <ChangeRows rows={lines} />
              </section>
            )}
            <LeftOutNotes all={leftOut} />
            {message === null ? null : <ErrorNote>{message}</ErrorNote>}
          </div>
        )}
      </QueryView>
    </Dialog>
  );
}

const REASON: Readonly<Record<LeftOut['reason'], string>> = {
  server_missing: 'Its server was deleted. The current build server stays.',
  is_secret: "This variable is now a secret, so it doesn't change.",
  was_secret: 'A deleted secret had this name, so the old plain value is not restored.',
};

function LeftOutNotes({ all }: { readonly all: readonly LeftOut[] }) {
  if (all.length === 0) return null;
  return (
    <section aria-label="Not restored">
      <h3 className="font-semibold">Not restored</h3>
      <ul className="mt-1 flex flex-col gap-1 text-ink-soft text-sm">
        {all.map(({ name, reason }) => (
          <li key={name}>
            <span className="font-medium text-ink">{namedSetting(name).label}</span>: {REASON[reason]}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface RestoreInput {
  readonly app: AppDetail;
  readonly number: number;
  /** Names of what the dialog says is left out. */
  readonly leftOut: readonly string[];
  /** Version that Undo restores. */
  readonly from: number;
  readonly onDone: () => void;
}

function useRestore({ app, number, leftOut, from, onDone }: RestoreInput) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const call = useFreshMutation(
    trpc.config.restore.mutationOptions({
      onSettled: () => {
        void queryClient.invalidateQueries(trpc.config.pathFilter());
        void queryClient.invalidateQueries(trpc.app.pathFilter());
      },
    }),
  );
  const where = { appId: app.id, environmentId: app.environmentId };
  // The dialog is closed then, so the promise tells the result instead of its state.
  const undo = (newestNumber: number) =>
    call
      .mutateAsync({ ...where, number: from, newestNumber })
      .then(({ number: saved }) => toast({ tone: 'ok', title: `Restored version ${from} as version ${saved}` }))
      .catch((error: unknown) => {
        if (!wasCancelled(error)) toast(failureToast("The settings weren't restored", error));
      });
  const restore = (effect: string) =>
    call.mutate(
      { ...where, number, newestNumber: from, leftOut: [...leftOut] },
      {
        onSuccess: (restored) => {
          onDone();
          toast({
            tone: 'ok',
            title: `Restored version ${number} as version ${restored.number}`,
            detail: effect,
            action: { label: 'Undo', onSelect: () => void undo(restored.number) },
          });
        },
      },
    );
  return {
    restore,
    pending: call.isPending,
    message: call.error === null || wasCancelled(call.error) ? null : readFailure(call.error).message,
  };
}
