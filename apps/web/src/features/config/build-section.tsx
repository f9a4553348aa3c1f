'use client';
// Build settings of an app. A builder that none of its servers supports is shown with the reason.
import { supports } from '@fairlead/contract/capabilities';
import { useQuery } from '@tanstack/react-query';
import { useTRPC } from '../../api/trpc.tsx';
import type { AppPlacement } from '../../common/app/app-placement.ts';
import { ChoiceField, CommandField, NumberField, TextField } from '../../common/form/fields.tsx';
import { Advanced, Section } from '../../common/form/section.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { defaults } from './defaults.ts';
import { bindSettings } from './draft.ts';
import type { SectionProps } from './settings-form.tsx';

type BuildProps = Pick<SectionProps, 'draft' | 'placement'>;

export function BuildSection({ draft, placement }: BuildProps) {
  const { builder } = draft.settings;
  const setting = bindSettings(draft);
  const canContain = useCanContain(placement);
  const isNative = builder === 'auto' || builder === 'native';
  return (
    <Section title="Build" detail="A fairlead.toml in the repository takes precedence">
      <ChoiceField
        label="Builder"
        hint={canContain ? null : 'Dockerfile and image need Docker on the servers of the app.'}
        options={[
          { value: 'auto', label: 'Auto-detect' },
          { value: 'native', label: 'Language buildpack' },
          { value: 'dockerfile', label: 'Dockerfile', disabled: !canContain },
          { value: 'image', label: 'Image', disabled: !canContain },
        ]}
        {...setting('builder')}
      />
      {builder === 'image' ? (
        <TextField
          label="Image"
          hint="With a tag or digest."
          placeholder="registry.example/shop:2"
          {...setting('image')}
        />
      ) : null}
      {builder === 'dockerfile' ? (
        <TextField
          label="Dockerfile"
          hint="Relative to the root folder."
          placeholder="Dockerfile"
          {...setting('dockerfile')}
        />
      ) : null}
      {isNative ? (
        <>
          <CommandField label="Install command" placeholder="Detected" {...setting('installCommand')} />
          <CommandField label="Build command" placeholder="Detected" {...setting('buildCommand')} />
          <TextField
            label="Output folder"
            hint="Folder to serve for a static site."
            placeholder="Detected"
            {...setting('outputFolder')}
          />
        </>
      ) : null}
      {builder === 'image' ? null : (
        <Advanced
          open={draft.settings.buildTimeoutMs !== defaults.buildTimeoutMs || draft.settings.buildServerId !== null}
        >
          <NumberField
            label="Build timeout"
            unit="minutes"
            standard={defaults.buildTimeoutMs}
            {...setting('buildTimeoutMs')}
          />
          {placement.servers.length > 1 ? <BuildServer draft={draft} placement={placement} /> : null}
        </Advanced>
      )}
    </Section>
  );
}

function BuildServer({ draft: { settings, set, problem }, placement: { servers } }: BuildProps) {
  const first = servers[0];
  return (
    <ChoiceField
      label="Build server"
      error={problem('buildServerId')}
      value={settings.buildServerId ?? ''}
      options={[
        { value: '', label: `Primary server${first === undefined ? '' : ` (${first.serverName})`}` },
        ...servers.map((server) => ({ value: server.serverId as string, label: server.serverName })),
      ]}
      onValue={(value) => set('buildServerId', servers.find(({ serverId }) => serverId === value)?.serverId ?? null)}
    />
  );
}

/** True if a server of the app can run containers, or if that is unknown: the deployment then reports it. */
function useCanContain({ servers }: AppPlacement): boolean {
  const { can } = useMe();
  const mayRead = can('server.read', {});
  const known = useQuery({ ...useTRPC().server.list.queryOptions(), enabled: mayRead }).data?.items;
  if (known === undefined) return true;
  const own = new Set<string>(servers.map(({ serverId }) => serverId));
  return known.some(({ id, capabilities }) => own.has(id) && supports(capabilities, 'container'));
}
