'use client';
// How the app is built, and from what.
import { Card, CardHeader } from '@fairlead/ui/card';
import type { AppPlace } from '../../common/app-place.ts';
import { ChoiceField, CommandField, NumberField, TextField } from '../../common/fields.tsx';
import type { Draft } from './draft.ts';

const BUILDERS = [
  { value: 'auto', label: 'Detect it' },
  { value: 'native', label: 'By its language' },
  { value: 'dockerfile', label: 'Dockerfile' },
  { value: 'image', label: 'Image of a registry' },
] as const;

export interface BuildSectionProps {
  readonly draft: Draft;
  readonly place: AppPlace;
}

export function BuildSection({ draft: { settings, set, problem }, place }: BuildSectionProps) {
  const { builder } = settings;
  const first = place.servers[0];
  return (
    <Card>
      <CardHeader title="Build" detail="A fairlead.toml in the repository comes first" />
      <div className="grid grid-cols-1 gap-5 border-line border-t p-5 sm:grid-cols-2">
        <ChoiceField
          label="Builder"
          error={problem('builder')}
          value={builder}
          options={BUILDERS}
          onValue={(value) => set('builder', value)}
        />
        {builder === 'image' ? (
          <TextField
            label="Image"
            hint="With a tag or a digest."
            error={problem('image')}
            value={settings.image}
            placeholder="registry.example/shop:2"
            onValue={(value) => set('image', value)}
          />
        ) : (
          <NumberField
            label="A build may take"
            unit="minutes"
            error={problem('buildTimeoutMs')}
            value={settings.buildTimeoutMs}
            onValue={(value) => set('buildTimeoutMs', value)}
          />
        )}
        {builder === 'dockerfile' ? (
          <TextField
            label="Dockerfile"
            hint="Below the root folder. Empty: Dockerfile."
            error={problem('dockerfile')}
            value={settings.dockerfile}
            placeholder="docker/web.Dockerfile"
            onValue={(value) => set('dockerfile', value)}
          />
        ) : null}
        {builder === 'auto' || builder === 'native' ? (
          <>
            <CommandField
              label="Install command"
              hint="Empty: what is detected."
              error={problem('installCommand')}
              value={settings.installCommand}
              placeholder="npm ci"
              onValue={(value) => set('installCommand', value)}
            />
            <CommandField
              label="Build command"
              hint="Empty: what is detected."
              error={problem('buildCommand')}
              value={settings.buildCommand}
              placeholder="npm run build"
              onValue={(value) => set('buildCommand', value)}
            />
            <TextField
              label="Output folder"
              hint="Of a static site: the folder to serve."
              error={problem('outputFolder')}
              value={settings.outputFolder}
              placeholder="dist"
              onValue={(value) => set('outputFolder', value)}
            />
          </>
        ) : null}
        {builder !== 'image' && place.servers.length > 1 ? (
          <ChoiceField
            label="Built on"
            error={problem('buildServerId')}
            value={settings.buildServerId ?? ''}
            options={[
              { value: '', label: `The first server${first === undefined ? '' : ` (${first.serverName})`}` },
              ...place.servers.map((server) => ({ value: server.serverId as string, label: server.serverName })),
            ]}
            onValue={(value) =>
              set('buildServerId', place.servers.find((server) => server.serverId === value)?.serverId ?? null)
            }
          />
        ) : null}
      </div>
    </Card>
  );
}
