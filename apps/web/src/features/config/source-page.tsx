'use client';
// Source and build settings of an app: the repository and how it becomes an artifact.
import type { AppDetail } from '../../api/types.ts';
import { TextField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import { BuildSection } from './build-section.tsx';
import { bindApp } from './draft.ts';
import { type SectionProps, SettingsForm, type SettingsPageProps } from './settings-form.tsx';

export function SourceSettings(page: SettingsPageProps) {
  return (
    <SettingsForm {...page} title="Source & build">
      {(section) => (
        <>
          <SourceSection {...section} />
          <BuildSection {...section} />
        </>
      )}
    </SettingsForm>
  );
}

function noRepositoryHint({ template }: AppDetail): string {
  return template === null
    ? 'None: this app uses an image or uploaded folders.'
    : `None: this app is the ${template} template. Enter the repository of your own code.`;
}

function SourceSection({ draft, app }: SectionProps) {
  const field = bindApp(draft);
  const hasEnvironments = app.placements.length > 1;
  return (
    <Section title="Source" detail={hasEnvironments ? 'In all environments, except the branch' : undefined}>
      <TextField
        label="Git repository"
        hint={app.repositoryUrl === '' ? noRepositoryHint(app) : null}
        className="sm:col-span-2"
        placeholder="https://git.example/team/app.git"
        {...field('repositoryUrl')}
      />
      <TextField
        label="Branch"
        hint={hasEnvironments ? `In ${app.environmentName} only.` : null}
        placeholder="Default branch"
        {...field('branch')}
      />
      <TextField
        label="Root folder"
        hint="Folder of the app in a monorepo."
        placeholder="Repository root"
        {...field('rootFolder')}
      />
    </Section>
  );
}
