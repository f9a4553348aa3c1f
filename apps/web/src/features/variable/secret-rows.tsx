'use client';
// Secrets of a shared group with their actions: change, reveal, history, delete.
import { Button, IconButton } from '@fairlead/ui/button';
import { Menu, MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Badge } from '@fairlead/ui/state-pill';
import { ClipboardPaste, Ellipsis, Eye, History, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { SecretOwner, SecretView } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { DeleteSecretDialog } from './delete-secret-dialog.tsx';
import { HistoryDialog } from './history-dialog.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { SecretPasteDialog } from './secret-paste-dialog.tsx';
import { SecretBadges, SecretValue, useShownSecret } from './secret-value.tsx';

type Open =
  | { readonly kind: 'edit'; readonly secret: SecretView | null }
  | { readonly kind: 'history'; readonly secret: SecretView }
  | { readonly kind: 'delete'; readonly secret: SecretView }
  | { readonly kind: 'paste' };

export interface SecretRowsProps {
  readonly owner: SecretOwner;
  readonly secrets: readonly SecretView[];
}

export function SecretRows({ owner, secrets }: SecretRowsProps) {
  const { can } = useMe();
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <ul>
        {secrets.map((secret) => (
          <SecretRow key={`${secret.id} ${secret.number}`} secret={secret} onOpen={setOpen} />
        ))}
      </ul>
      {can('secret.write') ? (
        <div className="flex flex-wrap gap-2 border-line border-t p-4">
          <Button icon={<Plus size={15} aria-hidden="true" />} onClick={() => setOpen({ kind: 'edit', secret: null })}>
            Add secret
          </Button>
          <Button
            variant="ghost"
            icon={<ClipboardPaste size={15} aria-hidden="true" />}
            onClick={() => setOpen({ kind: 'paste' })}
          >
            Paste .env
          </Button>
        </div>
      ) : null}
      {open?.kind === 'edit' ? <SecretDialog owner={owner} secret={open.secret} onClose={close} /> : null}
      {open?.kind === 'history' ? <HistoryDialog secret={open.secret} onClose={close} /> : null}
      {open?.kind === 'delete' ? <DeleteSecretDialog secret={open.secret} onClose={close} /> : null}
      {open?.kind === 'paste' ? (
        <SecretPasteDialog owner={owner} knownNames={new Set(secrets.map(({ name }) => name))} onClose={close} />
      ) : null}
    </>
  );
}

function SecretRow({ secret, onOpen }: { readonly secret: SecretView; readonly onOpen: (open: Open) => void }) {
  const { can } = useMe();
  const { shown, toggle } = useShownSecret(secret);
  return (
    <li className="flex min-h-12 flex-wrap items-center gap-x-4 gap-y-1 border-line border-t px-4 py-2">
      <code className="min-w-0 basis-56 truncate lg:basis-96 font-mono text-sm max-sm:flex-1" title={secret.name}>
        {secret.name}
      </code>
      <span className="order-last flex min-w-0 basis-full flex-wrap items-center gap-x-2 gap-y-1 sm:order-none sm:flex-1 sm:basis-0">
        <SecretValue secret={secret} shown={shown} />
        {secret.atBuild ? <Badge>build</Badge> : null}
        <SecretBadges secret={secret} />
      </span>
      <span className="hidden text-sm text-ink-faint md:inline">
        {secret.authorName ?? 'A service account'} · <RelativeTime at={secret.updatedAt} />
      </span>
      <Menu
        label={`Actions for ${secret.name}`}
        trigger={(trigger) => (
          <IconButton {...trigger} label={`Actions for ${secret.name}`} size="small">
            <Ellipsis size={16} aria-hidden="true" />
          </IconButton>
        )}
      >
        {can('secret.write') ? (
          <MenuItem icon={<Pencil size={15} />} onSelect={() => onOpen({ kind: 'edit', secret })}>
            Change
          </MenuItem>
        ) : null}
        {can('secret.reveal') && !secret.sealed ? (
          <MenuItem icon={<Eye size={15} />} onSelect={toggle}>
            {shown === null ? 'Show value' : 'Hide value'}
          </MenuItem>
        ) : null}
        <MenuItem icon={<History size={15} />} onSelect={() => onOpen({ kind: 'history', secret })}>
          History
        </MenuItem>
        {can('secret.write') ? (
          <>
            <MenuSeparator />
            <MenuItem danger icon={<Trash2 size={15} />} onSelect={() => onOpen({ kind: 'delete', secret })}>
              Delete
            </MenuItem>
          </>
        ) : null}
      </Menu>
    </li>
  );
}
