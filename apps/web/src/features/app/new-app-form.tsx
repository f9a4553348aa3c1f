'use client';
// Form of a new app: one call creates it with everything in the form.
import { commandOf } from '@fairlead/core/kernel/command';
import { type Template, templateFolder } from '@fairlead/core/template/rules';
import { buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Field, Input } from '@fairlead/ui/input';
import { SubmitButton } from '@fairlead/ui/submit-button';
import { skipToken, useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'next/navigation';
import { type FormEvent, useState } from 'react';
import { useTRPC } from '../../api/trpc.tsx';
import type { Repository, ServerSummary } from '../../api/types.ts';
import { sourceHost } from '../../common/app/source-host.ts';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { freeName, suggestHost, suggestImageName, suggestName } from './app-form.ts';
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
import { AppFolders } from './repository-picker.tsx';
import { SourceChoice, type SourceKind } from './source-choice.tsx';
import { SourceFields } from './source-fields.tsx';
import type { PickedSource } from './upload-folder.ts';
import { type NewApp, useCreateApp } from './use-create-app.ts';
import { usePlan } from './use-plan.ts';
import { useTakenNames } from './use-taken-names.ts';

export interface NewAppFormProps {
  readonly servers: readonly ServerSummary[];
  /** Runs when the app was created and its deploy key must be added to the host. */
  readonly onKey: (step: DeployKeyStepProps) => void;
}

export function NewAppForm({ servers, onKey }: NewAppFormProps) {
  const { paths } = useMe();
  const trpc = useTRPC();
  const create = useCreateApp(onKey);
  const { fields: errors, note } = create.errors;
  const environments = useQuery(trpc.environment.list.queryOptions()).data?.items ?? [];
  const opensTemplates = useSearchParams().get('source') === 'template';
  const [kind, setKind] = useState<SourceKind>(opensTemplates ? 'template' : 'https');
  const [hasSwitchedKind, setHasSwitchedKind] = useState(false);
  const [serverId, setServerId] = useState(() => (servers.find((each) => each.state === 'online') ?? servers[0])?.id);
  const [address, setAddress] = useState('');
  /** Address when its field lost focus; null if it is not valid. */
  const [checkedAddress, setCheckedAddress] = useState<string | null>(null);
  const [picked, setPicked] = useState<PickedSource | null>(null);
  const [repository, setRepository] = useState<Repository | null>(null);
  const [template, setTemplate] = useState<Template | null>(null);
  /** True after the form was sent without a folder, repository or template. */
  const [lacksChoice, setLacksChoice] = useState(false);
  const [name, setName] = useState<string | null>(null);
  const [host, setHost] = useState<string | null>(null);
  const [rootFolder, setRootFolder] = useState('');
  const [builder, setBuilder] = useState<Builder>('auto');
  /** Field values that the plan is fetched for; they update when a field loses focus. */
  const [planned, setPlanned] = useState({ branch: '', rootFolder: '' });
  const isGithub = kind === 'github';
  const wanted = isGithub ? repository : null;
  const content = useQuery({
    ...trpc.github.inspectRepository.queryOptions(
      wanted === null
        ? skipToken
        : { installationId: wanted.installationId, repositoryId: wanted.repositoryId, branch: planned.branch },
    ),
    retry: false,
  });
  // A server reads a private repository for the first time in its first build.
  const publicUrl = repository?.isPrivate === false ? repository.url : null;
  const repositoryUrl = kind === 'https' ? checkedAddress : isGithub ? publicUrl : null;
  const plan = usePlan({ repositoryUrl, serverId, builder, ...planned });
  const detected = plan.inspection?.kind === 'plan' ? plan.inspection.plan : null;
  const server = servers.find(({ id }) => id === serverId);
  const suggested = suggestedName(kind, { address, picked, repository, template });
  const taken = useTakenNames(name === null && isChosen(kind) ? suggested : '');
  const shownName = name ?? freeName(suggested, taken);
  // A host under .localhost resolves to this machine only.
  const shownHost = host ?? (server?.isLocal === true ? suggestHost(shownName) : '');
  const isGit = kind === 'https' || kind === 'ssh' || isGithub;
  const isImage = kind === 'image';
  const isTemplate = kind === 'template';
  const needsContainers = isImage || (isTemplate && template?.needs === 'containers');
  const isPlanned = (kind === 'https' || isGithub) && plan.isAsked;
  const hasContainers = servers.some(canContain);

  const switchKind = (next: SourceKind) => {
    setHasSwitchedKind(true);
    setKind(next);
    setAddress('');
    setCheckedAddress(null);
    setLacksChoice(false);
    if (next === 'image') switchToContainers();
  };
  /** Selects a server that can run containers when the selected one can't. */
  const switchToContainers = () => {
    if (server !== undefined && !canContain(server)) setServerId(servers.find(canContain)?.id);
  };

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const isEmpty = picked === null || (picked.kind === 'folder' && picked.files.length === 0);
    const lacks =
      (kind === 'folder' && isEmpty) || (isGithub && repository === null) || (isTemplate && template === null);
    setLacksChoice(lacks);
    if (serverId === undefined || lacks) return;
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    const [branch, username, password] = [text('branch'), text('username'), String(form.get('password') ?? '')];
    const environment = environments.find(({ id }) => id === text('environmentId'));
    const hasCredential = kind !== 'ssh' && !isGithub && (username !== '' || password !== '');
    const secrets = isPlanned ? secretsOf(plan.draft, detected) : [];
    create.run(
      {
        name: shownName,
        source: sourceOf(kind, { address: address.trim(), repository, template, branch, rootFolder }),
        ...(kind === 'ssh' ? { credential: { kind } } : {}),
        ...(hasCredential ? { credential: { ...credentialTarget(kind, address.trim()), username, password } } : {}),
        ...(environment === undefined ? {} : { environmentId: environment.id }),
        serverIds: [serverId, ...form.getAll('additionalServerIds').map(String)],
        ...(isPlanned ? { command: commandOf(plan.draft.start) } : {}),
        settings:
          isImage || isTemplate
            ? {}
            : { ...(builder === 'auto' ? {} : { builder }), ...(isPlanned ? overridesOf(plan.draft) : {}) },
        ...(secrets.length === 0 ? {} : { secrets }),
        ...(shownHost === '' ? {} : { domain: { host: shownHost } }),
        // The host of the repository needs the deploy key first.
        firstDeploy: kind === 'ssh' ? 'none' : 'deploy',
      },
      kind === 'folder' ? picked : null,
    );
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
          errors={errors}
          autoFocus={!hasSwitchedKind}
          address={address}
          onAddress={setAddress}
          onLeave={setCheckedAddress}
          picked={picked}
          repository={repository}
          template={template}
          choiceError={lacksChoice ? LACKS_CHOICE[kind] : isGithub ? errors.address : undefined}
          hasContainers={hasContainers}
          onPick={(next) => {
            setLacksChoice(false);
            setPicked(next);
          }}
          onTemplate={(next) => {
            setLacksChoice(false);
            setTemplate(next);
            if (next.needs === 'containers') switchToContainers();
          }}
          onRepository={(next) => {
            setLacksChoice(false);
            setRepository(next);
            setRootFolder('');
            setPlanned({ branch: '', rootFolder: '' });
          }}
        />
        <div className="grid grid-cols-1 gap-x-4 gap-y-5 sm:grid-cols-2">
          <Field label="Name" error={errors.name}>
            {(control) => (
              <Input {...control} required value={shownName} onChange={(event) => setName(event.target.value)} />
            )}
          </Field>
          <ServerField
            servers={servers}
            value={server}
            needsContainers={needsContainers}
            error={errors.serverId}
            onValue={setServerId}
          />
          {isGit ? (
            <BranchField
              repositoryUrl={isGithub ? null : repositoryUrl}
              known={
                isGithub && content.data !== undefined
                  ? { branches: content.data.branches, defaultBranch: repository?.defaultBranch ?? null }
                  : undefined
              }
              error={errors.branch}
              onLeave={(branch) => setPlanned({ ...planned, branch })}
            />
          ) : null}
          {isImage || isTemplate ? null : (
            <Field
              label="Root folder"
              hint={kind === 'folder' ? 'Default: whole folder' : 'Default: repository root'}
              error={errors.rootFolder}
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
            hint="A public name needs DNS records, which its page lists."
            error={errors.host}
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
          {environments.length > 1 ? <EnvironmentField environments={environments} /> : null}
          {isImage || isTemplate ? null : (
            <BuilderField value={builder} hasContainers={hasContainers} onValue={setBuilder} />
          )}
        </div>
        {isGithub ? (
          <AppFolders
            folders={content.data?.folders ?? []}
            value={rootFolder}
            onValue={(folder) => {
              setRootFolder(folder);
              setPlanned({ ...planned, rootFolder: folder });
            }}
          />
        ) : null}
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
        <AdditionalServers servers={servers.filter(({ id }) => id !== serverId)} needsContainers={needsContainers} />
        {note === null ? null : <ErrorNote>{note}</ErrorNote>}
        <UploadMeter progress={create.progress} />
        <div className="flex items-center justify-end gap-2">
          <HoverLink href={paths.apps} className={buttonClass('ghost')}>
            Cancel
          </HoverLink>
          <SubmitButton
            variant="accent"
            pending={create.pending}
            // Keeps the focus during a press: when the address loses it, the plan appears above and moves this button away.
            onMouseDown={(event) => event.preventDefault()}
          >
            {kind === 'ssh' ? 'Create deploy key' : kind === 'folder' ? 'Upload and deploy' : 'Deploy'}
          </SubmitButton>
        </div>
      </form>
    </Card>
  );
}

/** Errors of a form that was sent before its source was chosen. */
const LACKS_CHOICE: Partial<Record<SourceKind, string>> = {
  folder: 'Choose the folder of the app, or a .tar.gz of it.',
  github: 'Choose a repository.',
  template: 'Choose a template.',
};

interface Choices {
  readonly address: string;
  readonly repository: Repository | null;
  readonly template: Template | null;
}

function suggestedName(
  kind: SourceKind,
  { address, picked, repository, template }: Choices & { readonly picked: PickedSource | null },
): string {
  switch (kind) {
    case 'folder':
      return picked?.name ?? '';
    case 'image':
      return suggestImageName(address);
    case 'template':
      return template === null ? '' : templateFolder(template.id);
    case 'github':
      return suggestName(repository?.url ?? '');
    case 'https':
    case 'ssh':
      return suggestName(address);
  }
}

/** True for a source that is chosen at once, not typed. */
function isChosen(kind: SourceKind): boolean {
  return kind === 'template' || kind === 'github' || kind === 'folder';
}

interface SourceInput extends Choices {
  readonly branch: string;
  readonly rootFolder: string;
}

function sourceOf(
  kind: SourceKind,
  { address, repository, template, branch, rootFolder }: SourceInput,
): NewApp['source'] {
  if (kind === 'template' && template !== null) return { kind, template: template.id };
  if (kind === 'image') return { kind, image: address };
  if (kind === 'folder') return { kind: 'upload', rootFolder };
  if (kind !== 'github' || repository === null) return { kind: 'git', repositoryUrl: address, branch, rootFolder };
  const { installationId, repositoryId } = repository;
  return { kind, installationId, repositoryId, branch, rootFolder };
}

/** Returns the kind of the source's credentials and the host that was typed. */
function credentialTarget(kind: SourceKind, address: string): { kind: 'https' | 'registry'; host: string } {
  const credential = kind === 'image' ? 'registry' : 'https';
  return { kind: credential, host: sourceHost(credential, { repositoryUrl: address, image: address }) };
}
