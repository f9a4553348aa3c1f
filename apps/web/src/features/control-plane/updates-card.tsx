'use client';
// Updates of the control plane: the newest release with its changelog, a button that installs it, and the result of the last one.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader } from '@fairlead/ui/card';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { useToast } from '@fairlead/ui/toast';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ControlPlaneState } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { LastUpdate } from './last-update.tsx';
import { UpdateDialog } from './update-dialog.tsx';
import { Changelog, CommandText } from './update-text.tsx';

type Updates = ControlPlaneState['updates'];

/** True while the updater works or is about to. */
export function isUpdating({ isRequested, last }: Updates): boolean {
  return isRequested || last?.state === 'running';
}

export interface UpdatesCardProps {
  readonly updates: Updates;
  /** True while the dashboard does not answer. */
  readonly isAway: boolean;
}

export function UpdatesCard({ updates, isAway }: UpdatesCardProps) {
  const { method, feed, available, last, checkFailure } = updates;
  const updating = isUpdating(updates);
  return (
    <Card id="updates" className="scroll-mt-4">
      <CardHeader title="Updates" action={feed === null || updating ? null : <CheckNow />} />
      {updating ? null : (
        <div className="flex flex-col gap-4 border-line border-t px-4 py-4">
          {method === 'clone' ? (
            <CloneText />
          ) : available === null ? (
            <UpToDate updates={updates} />
          ) : (
            <Available updates={updates} available={available} />
          )}
          {checkFailure === null || feed === null ? null : (
            <WarnNote>{`The last check for a newer version failed. ${checkFailure}`}</WarnNote>
          )}
        </div>
      )}
      {last === null && !updating ? null : <LastUpdate last={last} isWaiting={updates.isRequested} isAway={isAway} />}
    </Card>
  );
}

function CheckNow() {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const check = useAction(
    useMutation(trpc.controlPlane.checkUpdate.mutationOptions()),
    "Fairlead couldn't check for updates",
    ({ available, checkFailure }) => {
      if (checkFailure === null)
        toast({
          title: available === null ? 'This is the newest version' : `Version ${available.version} is available`,
        });
      void queryClient.invalidateQueries(trpc.controlPlane.pathFilter());
    },
  );
  return (
    <Button size="small" pending={check.pending} onClick={() => check.run(undefined)}>
      Check now
    </Button>
  );
}

function CloneText() {
  return (
    <>
      <p className="text-pretty text-ink-soft">
        This control plane runs from a clone of the repository. Stop it, then get the newest commit and start it again:
      </p>
      <CommandText>git pull && npm start</CommandText>
    </>
  );
}

function UpToDate({ updates: { current, feed, checkedAt } }: { readonly updates: Updates }) {
  if (feed === null)
    return (
      <p className="text-pretty text-ink-soft">
        Version {current} runs. Fairlead doesn't check for updates. To change that, set updates.feed in the settings
        file, then restart the control plane.
      </p>
    );
  return (
    <p className="text-ink-soft">
      {checkedAt === null ? (
        `You are running version ${current}. Fairlead has not checked for a newer one yet.`
      ) : (
        <>
          Version {current} runs. Last check: <RelativeTime at={checkedAt} />.
        </>
      )}
    </p>
  );
}

interface AvailableProps {
  readonly updates: Updates;
  readonly available: NonNullable<Updates['available']>;
}

function Available({ updates: { current, feed, method }, available }: AvailableProps) {
  const { version, releasedAt, changelog } = available;
  const [open, setOpen] = useState(false);
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3">
        <div className="min-w-0">
          <p className="font-medium">Version {version} is available</p>
          <p className="text-ink-soft text-sm">
            Released <RelativeTime at={releasedAt} />. Version {current} runs.
          </p>
        </div>
        {method === 'button' ? (
          <Button variant="accent" className="ml-auto" onClick={() => setOpen(true)}>
            Update
          </Button>
        ) : null}
      </div>
      {method === 'button' ? null : (
        <>
          <p className="text-pretty text-ink-soft text-sm">
            The installer's service did not start this control plane, so it can't be updated from here. If the installer
            installed it, run this on the server. Otherwise unpack the new release and start it instead of this one.
          </p>
          <CommandText>{`fairlead update --from ${feed}`}</CommandText>
        </>
      )}
      <Changelog text={changelog} />
      <UpdateDialog version={version} current={current} open={open} onClose={() => setOpen(false)} />
    </>
  );
}
