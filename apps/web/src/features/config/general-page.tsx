'use client';
// General settings of an app: its name.
import { TextField } from '../../common/form/fields.tsx';
import { Section } from '../../common/form/section.tsx';
import { bindApp } from './draft.ts';
import { SettingsForm, type SettingsPageProps } from './settings-form.tsx';

export function GeneralSettings(page: SettingsPageProps) {
  return (
    <SettingsForm {...page} title="General">
      {({ draft }) => (
        <Section title="General">
          <TextField
            label="Name"
            hint="Addresses of the app and of its pages stay the same."
            className="sm:col-span-2"
            isProse
            {...bindApp(draft)('name')}
          />
        </Section>
      )}
    </SettingsForm>
  );
}
