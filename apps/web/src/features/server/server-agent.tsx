'use client';
// Agent program of a server: the running version, the offered one, and the progress of its upgrade.
import { supports } from '@fairlead/contract/capabilities';
import { Button } from '@fairlead/ui/button';
import { Dialog } from '@fairlead/ui/dialog';
import { ErrorNote } from '@fairlead/ui/error-state';
import { StateText } from '@fairlead/ui/state-pill';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';

type Upgrade = NonNullable<ServerDetail['upgrade']>;

const steps: Readonly<Record<Upgrade['step'], string>> = {
  fetch: 'The server fetches it.',
  check: 'The new agent checks that it can run on this server.',
  wait: 'It waits for builds, rollouts and benchmarks of this server to end.',
  start: 'The new agent runs on trial. If it fails within two minutes, the previous one takes over again.',
};

/** Hidden when there is nothing to report: the version is shown beside it. */
export function ServerAgent({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const [asking, setAsking] = useState(false);
  const { offeredAgent, upgrade } = server;
  const isRunning = upgrade?.state === 'running';
  const failed = upgrade?.state === 'failed' ? upgrade : null;
  if (!isRunning && offeredAgent === null) return null;
  const knows = supports(server.capabilities, 'upgrade');
  const canAsk = knows && !isRunning && offeredAgent !== null && can('server.upgrade');
  return (
    <div className="flex flex-wrap items-start gap-x-6 gap-y-3 border-line border-y px-4 py-3">
      <div className="min-w-0 flex-1 basis-72">
        {isRunning ? (
          <Line tone="busy" title={`Upgrading to ${programName(upgrade)}`}>
            {steps[upgrade.step]} Apps keep running.
          </Line>
        ) : failed !== null ? (
          <Line tone="bad" title={`The upgrade to ${programName(failed)} failed`}>
            {failed.failureMessage}
          </Line>
        ) : (
          <Line tone="idle" title={`Agent available: ${programName(offeredAgent ?? { version: '', digest: '' })}`}>
            {knows
              ? 'New servers get this agent.'
              : 'Its agent is too old to be upgraded from here, or its kernel is older than Linux 5.3. Run the install command of “Add server” on it once. Its apps keep running.'}
          </Line>
        )}
      </div>
      {canAsk ? (
        <Button disabled={server.state !== 'online'} onClick={() => setAsking(true)}>
          {failed === null ? 'Upgrade agent' : 'Try again'}
        </Button>
      ) : null}
      {offeredAgent === null ? null : (
        <ConfirmUpgrade server={server} offered={offeredAgent} open={asking} onClose={() => setAsking(false)} />
      )}
    </div>
  );
}

function Line({
  tone,
  title,
  children,
}: {
  readonly tone: 'busy' | 'bad' | 'idle';
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <>
      <StateText tone={tone} className="whitespace-normal font-medium">
        {title}
      </StateText>
      <p className="mt-0.5 text-pretty text-sm text-ink-soft">{children}</p>
    </>
  );
}

interface ConfirmUpgradeProps {
  readonly server: ServerDetail;
  readonly offered: NonNullable<ServerDetail['offeredAgent']>;
  readonly open: boolean;
  readonly onClose: () => void;
}

function ConfirmUpgrade({ server, offered, open, onClose }: ConfirmUpgradeProps) {
  const trpc = useTRPC();
  const upgrade = useMutation(trpc.server.upgrade.mutationOptions());
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Upgrade the agent of ${server.name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="accent"
            pending={upgrade.isPending}
            onClick={() => upgrade.mutate({ serverId: server.id }, { onSuccess: onClose })}
          >
            Upgrade agent
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-pretty text-ink-soft">
        <p>
          The server fetches agent <span className="font-mono text-sm">{programName(offered)}</span>, checks its digest
          and tests that it can run there. Then it takes over.
        </p>
        <p>
          Apps keep running and no request is lost. If the new agent doesn't reach this control plane within two
          minutes, the previous one takes over again.
        </p>
        {upgrade.error === null ? null : <ErrorNote>{readFailure(upgrade.error).message}</ErrorNote>}
      </div>
    </Dialog>
  );
}

/** Adds the digest, because versions alone don't distinguish two programs. */
function programName({ version, digest }: { readonly version: string; readonly digest: string }): string {
  return `${version} (${shortDigest(digest)})`;
}

export function shortDigest(digest: string): string {
  return digest.slice('sha256:'.length, 'sha256:'.length + 10);
}
