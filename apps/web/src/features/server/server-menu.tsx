'use client';
// Menu of a server's page: drain and removal.
import { IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { Ellipsis, LogOut, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { ServerDetail } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DrainDialog, RemoveServerDialog } from './server-dialogs.ts';

export function ServerMenu({ server }: { readonly server: ServerDetail }) {
  const { can } = useMe();
  const [asking, setAsking] = useState<'drain' | 'remove' | null>(null);
  const mayDrain = can('server.write') && server.drainedAt === null;
  const mayDelete = can('server.delete') && !server.isLocal;
  if (!mayDrain && !mayDelete) return null;
  return (
    <>
      <Menu
        label="More actions"
        trigger={(trigger) => (
          <IconButton {...trigger} label="More actions">
            <Ellipsis size={18} aria-hidden="true" />
          </IconButton>
        )}
      >
        {mayDrain ? (
          <MenuItem icon={<LogOut size={15} />} onSelect={() => setAsking('drain')}>
            Drain server
          </MenuItem>
        ) : null}
        {mayDelete ? (
          <MenuItem icon={<Trash2 size={15} />} danger onSelect={() => setAsking('remove')}>
            Remove server
          </MenuItem>
        ) : null}
      </Menu>
      {asking === 'drain' ? <DrainDialog server={server} open onClose={() => setAsking(null)} /> : null}
      {asking === 'remove' ? <RemoveServerDialog server={server} open onClose={() => setAsking(null)} /> : null}
    </>
  );
}
