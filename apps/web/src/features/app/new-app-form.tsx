'use client';
// Form of a new app. Checks everything before the first call, so that no app is created in part.
import { commandOf } from '@fairlead/core/kernel/command';
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerSummary } from '../../api/types.ts';
import { sourceHost } from '../../common/app/source-host.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { suggestHost, suggestImageName, suggestName } from './app-form.ts';
import type { DeployKeyStepProps } from './deploy-key-step.tsx';
import { UploadMeter } from './folder-field.tsx';
import {
  AdditionalServers,
  BranchField,
  type Builder,
  BuilderField,
  canContain,
  EnvironmentField,
  ServerField,
} from './new-app-fields.tsx';
import { PlanCard } from './plan-card.tsx';
import { overridesOf, secretsOf } from './plan-draft.ts';
import { SourceChoice, type SourceKind } from './source-choice.tsx';
import { SourceFields } from './source-fields.tsx';
import type { PickedSource } from './upload-folder.ts';
import { useCreateApp } from './use-create-app.ts';
import { usePlan } from './use-plan.ts';

export interface NewAppFormProps {
  readonly servers: readonly ServerSummary[];
  /** Runs when the app was created and its deploy key must be added to the host. */
  readonly onKey: (step: DeployKeyStepProps) => void;
}

export function NewAppForm({ servers, onKey }: NewAppFormProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const create = useCreateApp(onKey);
  const { failure } = create;
  const environments = useQuery(trpc.environment.list.queryOptions()).data?.items ?? [];
  const [kind, setKind] = useState<SourceKind>('https');
  const [hasSwitchedKind, setHasSwitchedKind] = useState(false);
  const [serverId, setServerId] = useState(() => (servers.find((each) => each.state === 'online') ?? servers[0])?.id);
  const [address, setAddress] = useState('');
  /** Address when its field lost focus; null if it is not valid. */
  const [checkedAddress, setCheckedAddress] = useState<string | null>(null);
  const [picked, setPicked] = useState<PickedSource | null>(null);
  const [lacksFolder, setLacksFolder] = useState(false);
  const [name, setName] = useState<string | null>(null);
  const [host, setHost] = useState<string | null>(null);
  const [rootFolder, setRootFolder] = useState('');
  const [builder, setBuilder] = useState<Builder>('auto');
  /** Field values that the plan is fetched for; they update when a field loses focus. */
  const [planned, setPlanned] = useState({ branch: '', rootFolder: '' });
  const repositoryUrl = kind === 'https' ? checkedAddress : null;
  const plan = usePlan({ repositoryUrl, serverId, builder, ...planned });
  const detected = plan.inspection?.kind === 'plan' ? plan.inspection.plan : null;
  const server = servers.find(({ id }) => id === serverId);
  const suggested =
    kind === 'folder' ? (picked?.name ?? '') : kind === 'image' ? suggestImageName(address) : suggestName(address);
  const shownName = name ?? suggested;
  // A host under .localhost resolves to this machine only.
  const shownHost = host ?? (server?.isLocal === true ? suggestHost(shownName) : '');
  const isGit = kind === 'https' || kind === 'ssh';
  const isImage = kind === 'image';
  const isPlanned = kind === 'https' && plan.isAsked;
  const hasContainers = servers.some(canContain);

  const switchKind = (next: SourceKind) => {
    setHasSwitchedKind(true);
    setKind(next);
    setAddress('');
    setCheckedAddress(null);
    setLacksFolder(false);
    // Switch to a server that can run containers when the selected one can't.
    if (next === 'image' && server !== undefined && !canContain(server)) setServerId(servers.find(canContain)?.id);
  };

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setLacksFolder(kind === 'folder' && (picked === null || (picked.kind === 'folder' && picked.files.length === 0)));
    if (serverId === undefined || (kind === 'folder' && picked === null)) return;
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    const [branch, username, password] = [text('branch'), text('username'), String(form.get('password') ?? '')];
    const environment = environments.find(({ id }) => id === text('environmentId'));
    create.run({
      app: {
        name: shownName,
        ...(isGit ? { repositoryUrl: address.trim(), branch } : {}),
        ...(environment === undefined ? {} : { environmentId: environment.id }),
        serverId,
        rootFolder,
        ...(isPlanned ? { command: commandOf(plan.draft.start) } : {}),
        ...(shownHost === '' ? {} : { host: shownHost }),
      },
      settings: isImage
        ? { builder: 'image', image: address.trim() }
        : { ...(builder === 'auto' ? {} : { builder }), ...(isPlanned ? overridesOf(plan.draft) : {}) },
      secrets: isPlanned ? secretsOf(plan.draft, detected) : [],
      access:
        username === '' && password === '' ? null : { ...credentialTarget(kind, address.trim()), username, password },
      serverIds: form.getAll('additionalServerIds').map(String),
      first: kind === 'ssh' ? 'key' : kind === 'folder' && picked !== null ? create.uploadOf(picked) : 'deploy',
    });
  };

  return (
    <Card>
      <form onSubmit={submit} noValidate className="flex flex-col gap-5 p-5">
        <SourceChoice
          value={kind}
          refused={hasContainers ? {} : { image: 'Needs Docker. No server here has it.' }}
          onValue={switchKind}
        />
        <SourceFields
          key={kind}
          kind={kind}
          failure={failure}
          autoFocus={!hasSwitchedKind}
          address={address}
          onAddress={setAddress}
          onLeave={setCheckedAddress}
          picked={picked}
          pickError={lacksFolder ? 'Choose the folder of the app, or a .tar.gz of it.' : undefined}
          onPick={setPicked}
        />
        <div className="grid grid-cols-1 gap-5 sm:grid-cols-2">
          <Field label="Name" error={failure?.fields.name}>
            {(control) => (
              <Input {...control} required value={shownName} onChange={(event) => setName(event.target.value)} />
            )}
          </Field>
          <ServerField
            servers={servers}
            value={server}
            needsContainers={isImage}
            error={failure?.fields.serverId}
            onValue={setServerId}
          />
          {isGit ? (
            <BranchField
              repositoryUrl={repositoryUrl}
              error={failure?.fields.branch}
              onLeave={(branch) => setPlanned({ ...planned, branch })}
            />
          ) : null}
          {isImage ? null : (
            <Field
              label="Root folder"
              hint={kind === 'folder' ? 'Default: whole folder' : 'Default: repository root'}
              error={failure?.fields.rootFolder}
            >
              {(control) => (
                <Input
                  {...control}
                  mono
                  placeholder="apps/shop"
                  value={rootFolder}
                  onChange={(event) => setRootFolder(event.target.value)}
                  onBlur={() => setPlanned({ ...planned, rootFolder: rootFolder.trim() })}
                />
              )}
            </Field>
          )}
          <Field
            label="Domain"
            hint="Only names that end in .localhost have a certificate yet."
            error={failure?.fields.host}
            className={isGit ? 'sm:col-span-2' : ''}
          >
            {(control) => (
              <Input
                {...control}
                mono
                value={shownHost}
                placeholder="None"
                onChange={(event) => setHost(event.target.value.trim())}
              />
            )}
          </Field>
          {environments.length > 1 ? (
            <EnvironmentField environments={environments} error={failure?.fields.environmentId} />
          ) : null}
          {isImage ? null : <BuilderField value={builder} hasContainers={hasContainers} onValue={setBuilder} />}
        </div>
        {isPlanned ? (
          <PlanCard
            serverName={server?.name ?? 'The server'}
            {...plan}
            onDraft={plan.setDraft}
            onRetry={plan.detectAgain}
            onRootFolder={(folder) => {
              setRootFolder(folder);
              setPlanned({ ...planned, rootFolder: folder });
            }}
          />
        ) : null}
        <AdditionalServers servers={servers.filter(({ id }) => id !== serverId)} needsContainers={isImage} />
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
        <UploadMeter progress={create.progress} />
        <div className="flex items-center justify-end gap-2">
          <HoverLink href={paths.apps} className={buttonClass('ghost')}>
            Cancel
          </HoverLink>
          <Button
            type="submit"
            variant="accent"
            pending={create.pending}
            // Keeps the focus during a press: when the address loses it, the plan appears above and moves this button away.
            onMouseDown={(event) => event.preventDefault()}
          >
            {kind === 'ssh' ? 'Create deploy key' : kind === 'folder' ? 'Upload and deploy' : 'Deploy'}
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** Returns the kind of the source's credentials and the host that was typed. */
function credentialTarget(kind: SourceKind, address: string): { kind: 'https' | 'registry'; host: string } {
  const credential = kind === 'image' ? 'registry' : 'https';
  return { kind: credential, host: sourceHost(credential, { repositoryUrl: address, image: address }) };
}
