'use client';
// Role matrix: permissions as rows, roles as columns; custom roles are editable. Saving first shows which members lose
// which permissions. Arrow keys move between boxes.
import { Button, IconButton } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { StateMark } from '@fairlead/ui/state-pill';
import { HeadCell, Table, TableHead } from '@fairlead/ui/table';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { Fragment, type KeyboardEvent, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Outputs } from '../../api/types.ts';
import { ConfirmDialog } from '../../common/form/confirm-dialog.tsx';
import { useAction } from '../../common/form/use-action.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { type Permission, useMe } from '../../common/organization/me.tsx';
import { PERMISSION_GROUPS, permissionLabel, roleLabel } from '../../common/organization/role-labels.ts';
import { comparePermissions, describeChange } from './permission-changes.ts';

export type Roles = Outputs['role']['list'];
type CustomRole = Roles['custom'][number];

const OWNERS_ONLY: ReadonlySet<Permission> = new Set(['organization.delete', 'organization.transfer']);

export function RoleMatrix({ roles }: { readonly roles: Roles }) {
  const { can } = useMe();
  const mayChange = can('role.write');
  const [drafts, setDrafts] = useState<ReadonlyMap<string, ReadonlySet<Permission>>>(new Map());
  const ticked = (role: CustomRole) => drafts.get(role.id) ?? new Set(role.permissions);
  const toggle = (role: CustomRole, permission: Permission) => {
    const next = new Set(ticked(role));
    if (!next.delete(permission)) next.add(permission);
    setDrafts((all) => new Map(all).set(role.id, next));
  };
  const drop = (roleId: string) => setDrafts((all) => new Map([...all].filter(([id]) => id !== roleId)));

  return (
    <Card>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the boxes inside take the keys, this only moves the focus */}
      <div onKeyDown={moveFocus}>
        <Table scrollLabel="Roles and their permissions">
          <TableHead>
            <HeadCell className="sticky left-0 z-10 bg-surface">Permission</HeadCell>
            {roles.builtIn.map(({ role, holders }) => (
              <HeadCell key={role} className="py-2 text-center">
                {roleLabel(role, []).label}
                <HolderCount count={holders} />
              </HeadCell>
            ))}
            {roles.custom.map((role) => (
              <HeadCell key={role.id} className="py-2 text-center text-ink">
                <span className="inline-flex items-center gap-1">
                  {role.name}
                  {mayChange ? <DeleteRole role={role} /> : null}
                </span>
                <HolderCount count={role.holders} />
              </HeadCell>
            ))}
          </TableHead>
          <tbody>
            {PERMISSION_GROUPS.map(({ title, permissions }) => (
              <Fragment key={title}>
                <tr className="border-line border-b bg-sunken">
                  <th
                    scope="rowgroup"
                    colSpan={1 + roles.builtIn.length + roles.custom.length}
                    className="h-8 px-4 text-left text-sm font-medium text-ink-soft"
                  >
                    {title}
                  </th>
                </tr>
                {permissions.map(([permission, label]) => (
                  <tr key={permission} className="border-line border-b last:border-b-0 hover:bg-hover">
                    <th scope="row" className="sticky left-0 z-10 h-10 bg-surface px-4 text-left font-normal">
                      <span className="whitespace-nowrap">{label}</span>
                    </th>
                    {roles.builtIn.map((role) => (
                      <td key={role.role} className="px-3 text-center">
                        <PermissionMark on={role.permissions.includes(permission)} />
                      </td>
                    ))}
                    {roles.custom.map((role) => (
                      <td key={role.id} className="px-3 text-center">
                        {OWNERS_ONLY.has(permission) ? (
                          <PermissionMark on={false} />
                        ) : (
                          <input
                            type="checkbox"
                            data-box=""
                            aria-label={`${role.name}: ${label}`}
                            title={can(permission) ? undefined : "You don't have this permission"}
                            className="size-4 align-middle accent-accent disabled:opacity-50"
                            checked={ticked(role).has(permission)}
                            disabled={!mayChange || !can(permission)}
                            onChange={() => toggle(role, permission)}
                          />
                        )}
                      </td>
                    ))}
                  </tr>
                ))}
              </Fragment>
            ))}
          </tbody>
        </Table>
      </div>
      {roles.custom.map((role) => (
        <Unsaved key={role.id} role={role} ticked={ticked(role)} onDone={() => drop(role.id)} />
      ))}
      {roles.custom.length === 0 ? (
        <p className="border-line border-t px-4 py-3 text-pretty text-sm text-ink-faint">
          These five roles fit most teams. A custom role can have any of these permissions except the last two.
        </p>
      ) : null}
    </Card>
  );
}

function HolderCount({ count }: { readonly count: number }) {
  return (
    <span className="block text-xs font-normal text-ink-faint">{count === 1 ? '1 member' : `${count} members`}</span>
  );
}

function PermissionMark({ on }: { readonly on: boolean }) {
  return (
    <span className="inline-flex">
      {on ? <StateMark tone="ok" shape="tick" /> : <StateMark tone="idle" shape="dash" />}
      <span className="sr-only">{on ? 'yes' : 'no'}</span>
    </span>
  );
}

interface UnsavedProps {
  readonly role: CustomRole;
  readonly ticked: ReadonlySet<Permission>;
  readonly onDone: () => void;
}

function Unsaved({ role, ticked, onDone }: UnsavedProps) {
  const trpc = useTRPC();
  const toast = useToast();
  const queryClient = useQueryClient();
  const save = useAction(
    useFreshMutation(trpc.role.update.mutationOptions()),
    `${role.name} wasn't changed`,
    async () => {
      await queryClient.invalidateQueries(trpc.role.pathFilter());
      void queryClient.invalidateQueries(trpc.session.pathFilter());
      onDone();
      toast({ title: `${role.name} is changed`, detail: 'Applies immediately to everyone with this role.' });
    },
  );
  const change = comparePermissions(role.permissions, ticked);
  if (change === null) return null;
  return (
    <section
      aria-label={`Unsaved changes of ${role.name}`}
      className="sticky bottom-0 z-20 flex flex-wrap items-center gap-3 border-line border-t bg-raised px-4 py-3"
    >
      <p aria-live="polite" className="min-w-0 flex-1 basis-72 text-pretty">
        <span className="font-medium">{role.name}.</span>{' '}
        <span className={change.lost.length > 0 ? 'text-bad-text' : 'text-ink-soft'}>
          {describeChange(change, role.holders, permissionLabel)}
        </span>
      </p>
      <Button onClick={onDone}>Discard</Button>
      <Button
        variant="accent"
        pending={save.pending}
        // Owner-only permissions have no box, so they are never sent.
        onClick={() => save.run({ roleId: role.id, permissions: [...ticked] as never })}
      >
        Save
      </Button>
    </section>
  );
}

function DeleteRole({ role }: { readonly role: CustomRole }) {
  const trpc = useTRPC();
  const queryClient = useQueryClient();
  const [open, setOpen] = useState(false);
  const remove = useAction(useMutation(trpc.role.delete.mutationOptions()), `${role.name} wasn't deleted`, () => {
    setOpen(false);
    void queryClient.invalidateQueries(trpc.role.pathFilter());
  });
  const held = role.holders > 0;
  return (
    <>
      <IconButton size="small" label={`Delete ${role.name}`} onClick={() => setOpen(true)}>
        <Trash2 size={14} aria-hidden="true" />
      </IconButton>
      <ConfirmDialog
        open={open}
        title={`Delete the role ${role.name}`}
        action={`Delete ${role.name}`}
        disabled={held}
        pending={remove.pending}
        onConfirm={() => remove.run({ roleId: role.id })}
        onClose={() => setOpen(false)}
      >
        <p className="text-pretty text-left font-normal">
          {held
            ? `${role.holders === 1 ? '1 member holds' : `${role.holders} members hold`} it. Give them another role first.`
            : 'No member has this role.'}
        </p>
      </ConfirmDialog>
    </>
  );
}

const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key];
  const box = event.target;
  if (step === undefined || !(box instanceof HTMLInputElement) || !('box' in box.dataset)) return;
  const rows = [...event.currentTarget.querySelectorAll('tr')]
    .map((row) => [...row.querySelectorAll<HTMLInputElement>('[data-box]')])
    .filter((boxes) => boxes.length > 0);
  const at = rows.findIndex((boxes) => boxes.includes(box));
  const column = rows[at]?.indexOf(box) ?? 0;
  event.preventDefault();
  rows[at + step[0]]?.[column + step[1]]?.focus();
}
