'use client';
// Backups of the control plane: the last and the next one, a button for one more, and the latest results.
import { Button } from '@fairlead/ui/button';
import { Card, CardHeader, Facts } from '@fairlead/ui/card';
import { useFormats } from '@fairlead/ui/formats';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateText, type Tone } from '@fairlead/ui/state-pill';
import { useToast } from '@fairlead/ui/toast';
import { WarnNote } from '@fairlead/ui/warn-note';
import { useQueryClient } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { ControlPlaneState } from '../../api/types.ts';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';

type Backup = ControlPlaneState['backups']['latest'][number];

const STATES: Record<Backup['state'], { readonly tone: Tone; readonly label: string }> = {
  queued: { tone: 'busy', label: 'Queued' },
  running: { tone: 'busy', label: 'Running' },
  succeeded: { tone: 'ok', label: 'Succeeded' },
  failed: { tone: 'bad', label: 'Failed' },
  interrupted: { tone: 'warn', label: 'Interrupted' },
};

export function BackupsCard({ backups }: Pick<ControlPlaneState, 'backups'>) {
  const { formatBytes, plural } = useFormats();
  const { folder, keep, next, latest, lastSucceeded } = backups;
  return (
    <Card id="backups" className="scroll-mt-4">
      <CardHeader
        title="Backups"
        action={folder === null ? null : <BackUpNow isRunning={latest.some(isUnfinished)} />}
      />
      {next !== null ? null : (
        <div className="px-4 pb-4">
          <WarnNote>
            {folder === null
              ? 'No backups are scheduled. Set backup.folder, backup.schedule and backup.recipient in the settings file, then restart the control plane.'
              : 'No backups are scheduled. Set backup.schedule in the settings file, then restart the control plane.'}
          </WarnNote>
        </div>
      )}
      {folder === null ? null : (
        <Facts
          className="border-line border-t px-4 py-4 sm:grid-cols-2"
          items={[
            {
              term: 'Last successful backup',
              value:
                lastSucceeded === null ? (
                  'None yet'
                ) : (
                  <>
                    <RelativeTime at={lastSucceeded.createdAt} />, {formatBytes(lastSucceeded.sizeBytes)}
                  </>
                ),
            },
            { term: 'Next backup', value: next === null ? 'Not scheduled' : <RelativeTime at={next} /> },
            { term: 'Folder', value: <span className="break-all font-mono text-sm">{folder}</span> },
            { term: 'Retention', value: `Newest ${plural(keep, 'backup')}` },
          ]}
        />
      )}
      {latest.length === 0 ? null : (
        <section aria-label="Latest backups">
          <ul>
            {latest.map((backup) => (
              <BackupRow key={backup.id} backup={backup} folder={folder} />
            ))}
          </ul>
        </section>
      )}
    </Card>
  );
}

export function isUnfinished({ state }: Backup): boolean {
  return state === 'queued' || state === 'running';
}

function BackUpNow({ isRunning }: { readonly isRunning: boolean }) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const start = useAction(
    useFreshMutation(trpc.controlPlane.startBackup.mutationOptions()),
    "The backup wasn't started",
    () => {
      toast({ title: 'Backup started' });
      void queryClient.invalidateQueries(trpc.controlPlane.pathFilter());
    },
  );
  return (
    <Button size="small" pending={start.pending} disabled={isRunning} onClick={() => start.run(undefined)}>
      Back up now
    </Button>
  );
}

function BackupRow({ backup, folder }: { readonly backup: Backup; readonly folder: string | null }) {
  const { formatBytes } = useFormats();
  const { state, isScheduled, createdAt, dataFile, sizeBytes, failure } = backup;
  const { tone, label } = STATES[state];
  return (
    <li className="border-line border-t px-4 py-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        <StateText tone={tone}>{label}</StateText>
        <span className="text-ink-soft">
          <RelativeTime at={createdAt} />, {isScheduled ? 'by schedule' : 'by an operator'}
        </span>
        {sizeBytes === null ? null : <span className="ml-auto text-ink-soft">{formatBytes(sizeBytes)}</span>}
      </p>
      {dataFile === null ? null : (
        <p className="mt-1 break-all font-mono text-ink-faint text-xs">{nameOf(dataFile, folder)}</p>
      )}
      {failure === null ? null : <p className="mt-1 break-words text-ink-soft text-sm">{failure}</p>}
    </li>
  );
}

/** Returns the common name of both files, with their folder if it is another one than today's. */
function nameOf(dataFile: string, folder: string | null): string {
  const name = dataFile.replace(/\.data\.age$/, '');
  return folder !== null && name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name;
}
