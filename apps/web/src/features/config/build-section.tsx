'use client';
// How the app is built, and from what. A builder that none of its servers can do is shown with the reason.
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppPlace } from '../../common/app-place.ts';
import { ChoiceField, CommandField, NumberField, TextField } from '../../common/fields.tsx';
import { useMe } from '../../common/me.tsx';
import { Section } from '../../common/section.tsx';
import { settingsOf } from './bind.ts';
import type { Draft } from './draft.ts';

export interface BuildSectionProps {
  readonly draft: Draft;
  readonly place: AppPlace;
}

export function BuildSection({ draft, place }: BuildSectionProps) {
  const { builder } = draft.settings;
  const setting = settingsOf(draft);
  const canContain = useCanContain(place);
  const isNative = builder === 'auto' || builder === 'native';
  return (
    <Section id="build" title="Build" detail="A fairlead.toml in the repository comes first">
      <ChoiceField
        label="Builder"
        hint={canContain ? null : 'Dockerfile and image need Docker on its servers.'}
        options={[
          { value: 'auto', label: 'Detect it' },
          { value: 'native', label: 'By its language' },
          { value: 'dockerfile', label: 'Dockerfile', disabled: !canContain },
          { value: 'image', label: 'Image of a registry', disabled: !canContain },
        ]}
        {...setting('builder')}
      />
      {builder === 'image' ? (
        <TextField
          label="Image"
          hint="With a tag or a digest."
          placeholder="registry.example/shop:2"
          {...setting('image')}
        />
      ) : (
        <NumberField label="A build may take" unit="minutes" {...setting('buildTimeoutMs')} />
      )}
      {builder === 'dockerfile' ? (
        <TextField
          label="Dockerfile"
          hint="Below the root folder. Empty: Dockerfile."
          placeholder="docker/web.Dockerfile"
          {...setting('dockerfile')}
        />
      ) : null}
      {isNative ? (
        <>
          <CommandField
            label="Install command"
            hint="Empty: what is detected."
            placeholder="npm ci"
            {...setting('installCommand')}
          />
          <CommandField
            label="Build command"
            hint="Empty: what is detected."
            placeholder="npm run build"
            {...setting('buildCommand')}
          />
          <TextField
            label="Output folder"
            hint="Of a static site: the folder to serve."
            placeholder="dist"
            {...setting('outputFolder')}
          />
        </>
      ) : null}
      {builder !== 'image' && place.servers.length > 1 ? <BuildServer draft={draft} place={place} /> : null}
    </Section>
  );
}

function BuildServer({ draft: { settings, set, problem }, place: { servers } }: BuildSectionProps) {
  const first = servers[0];
  return (
    <ChoiceField
      label="Built on"
      error={problem('buildServerId')}
      value={settings.buildServerId ?? ''}
      options={[
        { value: '', label: `The first server${first === undefined ? '' : ` (${first.serverName})`}` },
        ...servers.map((server) => ({ value: server.serverId as string, label: server.serverName })),
      ]}
      onValue={(value) => set('buildServerId', servers.find(({ serverId }) => serverId === value)?.serverId ?? null)}
    />
  );
}

/** True as long as nobody knows better: the deployment says it too. */
function useCanContain({ servers }: AppPlace): boolean {
  const { can } = useMe();
  const mayRead = can('server.read', {});
  const known = useQuery({ ...useTRPC().server.list.queryOptions(), enabled: mayRead }).data?.items;
  if (known === undefined) return true;
  const own = new Set<string>(servers.map(({ serverId }) => serverId));
  return known.some(({ id, capabilities }) => own.has(id) && capabilities.includes('container'));
}
