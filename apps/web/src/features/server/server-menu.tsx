'use client';
// Menu of a server's page: drain and deletion.
import { IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem } from '@fairlead/ui/menu';
import { useToast } from '@fairlead/ui/toast';
import { useMutation } from '@tanstack/react-query';
import { Ellipsis, LogOut, Trash2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerDetail } from '../../api/types.ts';
import { ConfirmDelete } from '../../common/form/confirm-delete.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { DrainDialog } from './drain-dialog.tsx';

export function ServerMenu({ server }: { readonly server: ServerDetail }) {
  const { paths, can } = useMe();
  const trpc = useTRPC();
  const router = useRouter();
  const toast = useToast();
  const [asking, setAsking] = useState<'drain' | 'delete' | null>(null);
  const remove = useMutation(trpc.server.delete.mutationOptions());
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
          <MenuItem icon={<Trash2 size={15} />} danger onSelect={() => setAsking('delete')}>
            Delete server
          </MenuItem>
        ) : null}
      </Menu>
      <DrainDialog server={server} open={asking === 'drain'} onClose={() => setAsking(null)} />
      <ConfirmDelete
        open={asking === 'delete'}
        onClose={() => setAsking(null)}
        what="server"
        name={server.name}
        consequences="Its key and charts are deleted. Its agent keeps serving until you stop it there."
        pending={remove.isPending}
        error={remove.error}
        onConfirm={(confirmName) =>
          remove.mutate(
            { serverId: server.id, confirmName },
            {
              onSuccess: () => {
                toast({ title: `${server.name} is deleted` });
                router.push(paths.servers);
              },
            },
          )
        }
      />
    </>
  );
}
