'use client';
// Note on the page of an offline server: when it was last seen, and its replacement by another one.
import { Button } from '@fairlead/ui/button';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { StateMark } from '@fairlead/ui/state-pill';
import { useState } from 'react';
import type { ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { ReplaceServerDialog } from './server-dialogs.ts';

export function ServerOfflineNote({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const [replacing, setReplacing] = useState(false);
  // The open dialog also outlives a server that comes back.
  if ((server.state !== 'offline' || server.isLocal) && !replacing) return null;
  return (
    <section
      aria-label="Offline"
      className="flex flex-wrap items-start gap-x-3 gap-y-3 rounded-card bg-bad-wash px-4 py-3"
    >
      <span className="mt-1.5">
        <StateMark tone="bad" />
      </span>
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1 text-pretty text-ink">
        <h2 className="font-semibold text-bad-text">
          Offline
          {server.lastSeenAt === null ? null : (
            <>
              , last seen <RelativeTime at={server.lastSeenAt} />
            </>
          )}
        </h2>
        <p>
          If the machine still runs, it keeps serving its apps and reconnects automatically. If it is lost, replace it.
        </p>
      </div>
      {can('server.write') ? <Button onClick={() => setReplacing(true)}>Replace server</Button> : null}
      {replacing ? <ReplaceServerDialog server={server} open onClose={() => setReplacing(false)} /> : null}
    </section>
  );
}
