'use client';
// Menu beside a page's title: shows one project or all of them. Hidden while the reader sees one project only.
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '@fairlead/ui/menu';
import { useQuery } from '@tanstack/react-query';
import { ChevronsUpDown, FolderKanban } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useTRPC } from '../../api/trpc.tsx';
import { useMe } from '../organization/me.tsx';
import { useProjectFilter } from './project-filter.ts';

export function ProjectSwitcher() {
  const { paths } = useMe();
  const router = useRouter();
  const { input, set } = useProjectFilter();
  const projects = useQuery(useTRPC().project.list.queryOptions()).data?.items ?? [];
  const { projectId } = input;
  if (projects.length < 2 && projectId === undefined) return null;
  const current =
    projectId === undefined ? 'All projects' : (projects.find(({ id }) => id === projectId)?.name ?? 'Unknown project');
  return (
    <Menu
      label="Project"
      align="start"
      trigger={(trigger) => (
        <button
          {...trigger}
          type="button"
          aria-label={`Project: ${current}`}
          className="inline-flex h-7 min-w-0 items-center gap-1.5 rounded-control px-2 text-ink-soft transition-colors duration-120 hover:bg-hover hover:text-ink"
        >
          <span className="max-w-40 truncate">{current}</span>
          <ChevronsUpDown size={13} aria-hidden="true" className="shrink-0 text-ink-faint" />
        </button>
      )}
    >
      <MenuLabel>Project</MenuLabel>
      <MenuItem checked={projectId === undefined} onSelect={() => set('')}>
        All projects
      </MenuItem>
      {projects.map(({ id, name }) => (
        <MenuItem key={id} checked={id === projectId} onSelect={() => set(id)}>
          {name}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={<FolderKanban size={15} />} onSelect={() => router.push(paths.projects)}>
        Open projects
      </MenuItem>
    </Menu>
  );
}
