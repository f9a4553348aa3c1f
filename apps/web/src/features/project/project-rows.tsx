'use client';
// Table of projects with the actions that the reader may take.
import { IconButton } from '@fairlead/ui/button';
import { useFormats } from '@fairlead/ui/formats';
import { Menu, MenuItem, MenuSeparator } from '@fairlead/ui/menu';
import { RelativeTime } from '@fairlead/ui/relative-time';
import { Cell, HeadCell, Row, rowLink, Table, TableHead } from '@fairlead/ui/table';
import { Ellipsis, Layers, Pencil, Trash2 } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import type { Project } from '../../api/types.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { DeleteProject } from './delete-project.tsx';
import { ProjectNameDialog } from './project-name-dialog.tsx';

type Opened = { readonly dialog: 'rename' | 'delete'; readonly project: Project };

export function ProjectRows({ projects }: { readonly projects: readonly Project[] }) {
  const { plural } = useFormats();
  const { paths, can } = useMe();
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  return (
    <>
      <Table>
        <TableHead>
          <HeadCell>Project</HeadCell>
          <HeadCell numeric>Apps</HeadCell>
          <HeadCell className="max-sm:hidden">Environments</HeadCell>
          <HeadCell numeric className="max-lg:hidden">
            Created
          </HeadCell>
          <HeadCell>
            <span className="sr-only">Change</span>
          </HeadCell>
        </TableHead>
        <tbody>
          {projects.map((project) => (
            <Row key={project.id}>
              <Cell className="w-full max-w-0">
                <HoverLink href={paths.projectApps(project.id)} {...rowLink}>
                  {project.name}
                </HoverLink>
                <span className="block truncate text-sm text-ink-faint sm:hidden">
                  {plural(project.environments.length, 'environment')}
                </span>
              </Cell>
              <Cell numeric>{project.appCount}</Cell>
              <Cell className="max-w-80 truncate text-ink-soft max-sm:hidden">
                {project.environments.map(({ name }) => name).join(', ')}
              </Cell>
              <Cell numeric className="max-lg:hidden">
                <RelativeTime at={project.createdAt} className="font-sans text-ink-soft" />
              </Cell>
              <Cell className="relative">
                {can('project.write', { projectId: project.id }) ? (
                  <ProjectMenu project={project} onOpen={(dialog) => setOpened({ dialog, project })} />
                ) : null}
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      {opened?.dialog === 'rename' ? <ProjectNameDialog project={opened.project} onClose={close} /> : null}
      {opened?.dialog === 'delete' ? <DeleteProject project={opened.project} onClose={close} /> : null}
    </>
  );
}

interface ProjectMenuProps {
  readonly project: Project;
  readonly onOpen: (dialog: Opened['dialog']) => void;
}

function ProjectMenu({ project, onOpen }: ProjectMenuProps) {
  const { paths } = useMe();
  const router = useRouter();
  return (
    <Menu
      label={`Change ${project.name}`}
      trigger={(trigger) => (
        <IconButton {...trigger} label={`Change ${project.name}`}>
          <Ellipsis size={16} aria-hidden="true" />
        </IconButton>
      )}
    >
      <MenuItem icon={<Pencil size={15} />} onSelect={() => onOpen('rename')}>
        Rename
      </MenuItem>
      <MenuItem icon={<Layers size={15} />} onSelect={() => router.push(paths.environments)}>
        Environments
      </MenuItem>
      <MenuSeparator />
      <MenuItem danger icon={<Trash2 size={15} />} onSelect={() => onOpen('delete')}>
        Delete {project.name}
      </MenuItem>
    </Menu>
  );
}
