'use client';
// Menu beside the app's name, on every page of the app: selects the environment, or adds the app to another one.
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { ChevronsUpDown, Plus } from 'lucide-react';
import dynamic from 'next/dynamic';
import { usePathname } from 'next/navigation';
import { useState } from 'react';
import type { AppDetail } from '../../api/types.ts';
import { useGuardedPush } from '../../common/form/unsaved-changes.tsx';
import { useMe } from '../../common/organization/me.tsx';

const AddEnvironmentDialog = dynamic(
  () => import('./add-environment-dialog.tsx').then((module) => module.AddEnvironmentDialog),
  {
    ssr: false,
  },
);

export function EnvironmentMenu({ app }: { readonly app: AppDetail }) {
  const { can } = useMe();
  const push = useGuardedPush();
  const pathname = usePathname();
  const [adding, setAdding] = useState(false);
  const [first] = app.placements;
  const go = (environmentId: string) =>
    push(environmentId === first?.environmentId ? pathname : `${pathname}?environment=${environmentId}`);
  // A grant in one environment of the project is enough to add the app there.
  const mayAdd = can('app.write', { projectId: app.projectId });
  if (app.placements.length < 2 && !mayAdd) {
    return <span className="text-ink-soft">{app.environmentName}</span>;
  }
  return (
    <>
      <Menu
        label="Environment"
        align="start"
        trigger={(trigger) => (
          <button
            {...trigger}
            type="button"
            aria-label={`Environment: ${app.environmentName}`}
            className="inline-flex h-7 min-w-0 items-center gap-1.5 rounded-control px-2 text-ink-soft transition-colors duration-120 hover:bg-hover hover:text-ink"
          >
            <span className="max-w-40 truncate">{app.environmentName}</span>
            <ChevronsUpDown size={13} aria-hidden="true" className="shrink-0 text-ink-faint" />
          </button>
        )}
      >
        <MenuLabel>Environment</MenuLabel>
        {app.placements.map((placement) => (
          <MenuItem
            key={placement.environmentId}
            checked={placement.environmentId === app.environmentId}
            onSelect={() => go(placement.environmentId)}
          >
            {placement.environmentName}
          </MenuItem>
        ))}
        {mayAdd ? (
          <>
            <MenuSeparator />
            <MenuItem icon={<Plus size={15} />} onSelect={() => setAdding(true)}>
              Add to an environment
            </MenuItem>
          </>
        ) : null}
      </Menu>
      {adding ? <AddEnvironmentDialog app={app} onClose={() => setAdding(false)} /> : null}
    </>
  );
}
