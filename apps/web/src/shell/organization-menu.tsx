'use client';
// Menu with the current organization and a switch to another.
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { ChevronsUpDown, Plus } from 'lucide-react';
import { useGuardedPush } from '../common/form/unsaved-changes.tsx';
import { useMe } from '../common/organization/me.tsx';
import { newOrganizationPath } from '../common/organization/paths.ts';

export function OrganizationMenu() {
  const { organization, organizations } = useMe();
  const navigate = useGuardedPush();
  return (
    <Menu
      label="Organization"
      align="start"
      trigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          className="flex h-8 w-full min-w-0 items-center gap-1.5 rounded-control px-1.5 text-left hover:bg-hover"
        >
          <span className="min-w-0 flex-1 truncate font-semibold">{organization.name}</span>
          <ChevronsUpDown size={14} aria-hidden="true" className="shrink-0 text-ink-faint" />
        </button>
      )}
    >
      <MenuLabel>Organizations</MenuLabel>
      {organizations.map((each) => (
        <MenuItem key={each.id} checked={each.id === organization.id} onSelect={() => navigate(`/${each.slug}`)}>
          {each.name}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={<Plus size={15} />} onSelect={() => navigate(newOrganizationPath)}>
        New organization
      </MenuItem>
    </Menu>
  );
}
