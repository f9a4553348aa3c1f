'use client';
// Progress of an agent that removes itself from its server, or the reason why it could not.
import { Button } from '@fairlead/ui/button';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateMark } from '@fairlead/ui/state-pill';
import { useState } from 'react';
import type { ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { RemoveServerDialog } from './server-dialogs.ts';
import { useServerGone } from './use-server-gone.ts';

export function ServerUninstallNote({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const [removing, setRemoving] = useState(false);
  const { uninstall } = server;
  const isRunning = uninstall?.state === 'running';
  useServerGone(server, isRunning);
  if (uninstall === null) return null;
  return (
    <section
      aria-label="Removal"
      className="flex flex-wrap items-start gap-x-3 gap-y-3 rounded-card bg-warn-wash px-4 py-3"
    >
      <span className="mt-1.5">
        <StateMark tone={isRunning ? 'busy' : 'bad'} />
      </span>
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1 text-pretty text-ink">
        <h2 className="font-semibold text-warn-text">
          {isRunning ? 'Removing' : 'Removal failed'} <RelativeTime at={uninstall.requestedAt} />
        </h2>
        {isRunning ? (
          <p>
            The agent removes itself{uninstall.withData ? ' and all volumes' : '; volumes stay on the machine'}. This
            page closes when it is done.
          </p>
        ) : (
          <p>{uninstall.failureMessage}</p>
        )}
      </div>
      {can('server.delete') && (!isRunning || server.state !== 'online') ? (
        <Button onClick={() => setRemoving(true)}>{isRunning ? 'Remove without agent' : 'Try again'}</Button>
      ) : null}
      {removing ? <RemoveServerDialog server={server} open onClose={() => setRemoving(false)} /> : null}
    </section>
  );
}
