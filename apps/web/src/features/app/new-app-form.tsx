'use client';
// Form of a new app. Checks everything before the first call, so that no app is created in part.
import { commandOf } from '@fairlead/core/kernel/command';
import { fromScpForm } from '@fairlead/core/source/rules';
import { Button, buttonClass } from '@fairlead/ui/button';
import { Card } from '@fairlead/ui/card';
import { ErrorNote } from '@fairlead/ui/error-state';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { Meter } from '@fairlead/ui/meter';
import { useToast } from '@fairlead/ui/toast';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter } from 'next/navigation';
import { type FormEvent, useState } from 'react';
import { readFailure } from '../../api/failure.ts';
import { useTRPC, useTRPCClient } from '../../api/trpc.tsx';
import type { ServerSummary, SourceBranches } from '../../api/types.ts';
import { sourceHost } from '../../common/app/source-host.ts';
import { useFreshMutation } from '../../common/identity/confirm-identity.tsx';
import { useMe } from '../../common/organization/me.tsx';
import { HoverLink } from '../../common/page/hover-link.tsx';
import { sayServer } from '../../common/server/server-options.tsx';
import { suggestHost, suggestImageName, suggestName } from './app-form.ts';
import type { DeployKeyStepProps } from './deploy-key-step.tsx';
import { makeApp, type NewApp } from './make-app.ts';
import { PlanCard } from './plan-card.tsx';
import { overridesOf, secretsOf } from './plan-draft.ts';
import { SourceChoice, type SourceKind } from './source-choice.tsx';
import { SourceFields } from './source-fields.tsx';
import { type PickedSource, type UploadProgress, uploadFolder } from './upload-folder.ts';
import { usePlan } from './use-plan.ts';

export interface NewAppFormProps {
  readonly servers: readonly ServerSummary[];
  /** Runs when the app was created and its deploy key must be added to the host. */
  readonly onKey: (step: DeployKeyStepProps) => void;
}

const canContain = ({ capabilities }: ServerSummary) => capabilities.includes('container');
const NO_CONTAINERS = 'Needs Docker. No server here has it.';
const builders = [
  { value: 'auto', label: 'Auto-detect' },
  { value: 'native', label: 'Language buildpack' },
  { value: 'dockerfile', label: 'Dockerfile' },
] as const;

export function NewAppForm({ servers, onKey }: NewAppFormProps) {
  const { organization, paths } = useMe();
  const trpc = useTRPC();
  const client = useTRPCClient();
  const router = useRouter();
  const toast = useToast();
  // Drops the typed password from the cache as soon as it was sent.
  const { mutateAsync: setPassword } = useFreshMutation(trpc.credential.update.mutationOptions({ gcTime: 0 }));
  const { mutateAsync: makeKey } = useFreshMutation(trpc.credential.rotateKey.mutationOptions());
  const create = useMutation({
    mutationFn: (wanted: NewApp) => makeApp(client, { setPassword, makeKey }, wanted),
    gcTime: 0,
  });
  const environments = useQuery(trpc.environment.list.queryOptions()).data?.items ?? [];
  const [begins, setBegins] = useState(true);
  const [kind, setKind] = useState<SourceKind>('https');
  const [serverId, setServerId] = useState(() => (servers.find((each) => each.state === 'online') ?? servers[0])?.id);
  const [address, setAddress] = useState('');
  const [picked, setPicked] = useState<PickedSource | null>(null);
  const [name, setName] = useState<string | null>(null);
  const [host, setHost] = useState<string | null>(null);
  const [whole, setWhole] = useState<string | null>(null);
  const [missing, setMissing] = useState(false);
  const [progress, setProgress] = useState<UploadProgress | null>(null);
  const branches = useQuery({
    ...trpc.source.branches.queryOptions({ repositoryUrl: whole ?? '' }),
    enabled: whole !== null && kind === 'https',
    retry: false,
  });
  const [rootFolder, setRootFolder] = useState('');
  const [builder, setBuilder] = useState<(typeof builders)[number]['value']>('auto');
  /** Field values that the plan is fetched for; they update when a field loses focus. */
  const [settled, setSettled] = useState({ branch: '', rootFolder: '' });
  const plan = usePlan({ repositoryUrl: kind === 'https' ? whole : null, serverId, builder, ...settled });
  const detected = plan.inspection?.kind === 'plan' ? plan.inspection.plan : null;
  const failure = create.error === null ? null : readFailure(create.error);
  const server = servers.find(({ id }) => id === serverId);
  const suggested =
    kind === 'folder' ? (picked?.name ?? '') : kind === 'image' ? suggestImageName(address) : suggestName(address);
  const shownName = name ?? suggested;
  // A host under .localhost resolves to this machine only.
  const shownHost = host ?? (server?.isLocal === true ? suggestHost(shownName) : '');
  const isGit = kind === 'https' || kind === 'ssh';
  const isPlanned = kind === 'https' && plan.isAsked;

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setMissing(kind === 'folder' && (picked === null || (picked.kind === 'folder' && picked.files.length === 0)));
    if (serverId === undefined || (kind === 'folder' && picked === null)) return;
    const form = new FormData(event.currentTarget);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    const [branch, username, password] = [text('branch'), text('username'), String(form.get('password') ?? '')];
    const environment = environments.find(({ id }) => id === text('environmentId'));
    const upload = (source: PickedSource) => (appId: string) =>
      uploadFolder(source, { organization: organization.slug, appId }, setProgress);
    create.mutate(
      {
        app: {
          name: shownName,
          ...(isGit ? { repositoryUrl: address.trim(), branch } : {}),
          ...(environment === undefined ? {} : { environmentId: environment.id }),
          serverId,
          rootFolder,
          ...(isPlanned ? { command: commandOf(plan.draft.start) } : {}),
          ...(shownHost === '' ? {} : { host: shownHost }),
        },
        settings:
          kind === 'image'
            ? { builder: 'image', image: address.trim() }
            : { ...(builder === 'auto' ? {} : { builder }), ...(isPlanned ? overridesOf(plan.draft) : {}) },
        secrets: isPlanned ? secretsOf(plan.draft, detected) : [],
        access:
          username === '' && password === '' ? null : { ...credentialTarget(kind, address.trim()), username, password },
        serverIds: form.getAll('further').map(String),
        first: kind === 'ssh' ? 'key' : kind === 'folder' && picked !== null ? upload(picked) : 'deploy',
      },
      {
        onSettled: () => setProgress(null),
        onSuccess: ({ appId, slug, deploymentId, publicKey, left }) => {
          if (publicKey !== null) {
            return onKey({ appId, slug, publicKey, repositoryUrl: fromScpForm(address.trim()) });
          }
          if (left !== null) {
            const detail = `${readFailure(left).message} Finish it in its settings, then press Deploy.`;
            toast({ tone: 'warn', title: 'App created, but not deployed', detail });
          }
          router.push(deploymentId === null ? paths.app(slug) : paths.deployment(deploymentId));
        },
      },
    );
  };

  return (
    <Card>
      <form onSubmit={submit} noValidate className="flex flex-col gap-5 p-5">
        <SourceChoice
          value={kind}
          refused={servers.some(canContain) ? {} : { image: NO_CONTAINERS }}
          onValue={(next) => {
            setBegins(false);
            setKind(next);
            setAddress('');
            setWhole(null);
            setMissing(false);
            // Switch to a server that can run containers when the selected one can't.
            if (next === 'image' && server !== undefined && !canContain(server))
              setServerId(servers.find(canContain)?.id);
          }}
        />
        <SourceFields
          key={kind}
          kind={kind}
          failure={failure}
          begins={begins}
          address={address}
          onAddress={setAddress}
          onLeave={setWhole}
          picked={picked}
          pickError={missing ? 'Choose the folder of the app, or a .tar.gz of it.' : undefined}
          onPick={setPicked}
        />
        <div className="grid grid-cols-1 gap-5 sm:grid-cols-2">
          <Field label="Name" error={failure?.fields.name}>
            {(control) => (
              <Input {...control} required value={shownName} onChange={(event) => setName(event.target.value)} />
            )}
          </Field>
          <Field
            label="Server"
            hint={
              kind === 'image' && server !== undefined && !canContain(server) ? 'Its agent runs no containers.' : null
            }
            error={failure?.fields.serverId}
          >
            {(control) => (
              <Select
                {...control}
                value={serverId}
                onChange={(event) => setServerId(servers.find((each) => each.id === event.target.value)?.id)}
              >
                {servers.map((each) => (
                  <option key={each.id} value={each.id} disabled={kind === 'image' && !canContain(each)}>
                    {sayServer(each)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {isGit ? (
            <Field
              label="Branch"
              hint={kind === 'https' ? branchHint(branches) : DEFAULT_BRANCH}
              error={failure?.fields.branch}
            >
              {(control) => (
                <>
                  <Input
                    {...control}
                    mono
                    name="branch"
                    onBlur={(event) => setSettled({ ...settled, branch: event.target.value.trim() })}
                    list={`${control.id}-branches`}
                    placeholder={branches.data?.defaultBranch ?? ''}
                  />
                  <datalist id={`${control.id}-branches`}>
                    {branches.data?.branches.map((branch) => (
                      <option key={branch} value={branch} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
          ) : null}
          {kind === 'image' ? null : (
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
                  onBlur={() => setSettled({ ...settled, rootFolder: rootFolder.trim() })}
                />
              )}
            </Field>
          )}
          <Field
            label="Domain"
            hint="For now a name that ends in .localhost: public names get no certificate yet."
            error={failure?.fields.host}
            className={isGit ? 'sm:col-span-2' : ''}
          >
            {(control) => (
              <Input
                {...control}
                mono
                value={shownHost}
                placeholder="none yet"
                onChange={(event) => setHost(event.target.value.trim())}
              />
            )}
          </Field>
          {environments.length > 1 ? (
            <Field label="Environment" hint="More can be added later." error={failure?.fields.environmentId}>
              {(control) => (
                <Select {...control} name="environmentId">
                  {environments.map(({ id, name: environmentName, projectName }) => (
                    <option key={id} value={id}>
                      {environments.some((other) => other.projectName !== projectName)
                        ? `${projectName} / ${environmentName}`
                        : environmentName}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
          ) : null}
          {kind === 'image' ? null : (
            <Field
              label="Builder"
              hint={
                servers.some(canContain)
                  ? 'A Dockerfile takes precedence if there is one.'
                  : `A Dockerfile ${NO_CONTAINERS.replace('Needs', 'needs')}`
              }
            >
              {(control) => (
                <Select
                  {...control}
                  value={builder}
                  onChange={(event) =>
                    setBuilder(builders.find(({ value }) => value === event.target.value)?.value ?? 'auto')
                  }
                >
                  {builders.map(({ value, label }) => (
                    <option key={value} value={value} disabled={value === 'dockerfile' && !servers.some(canContain)}>
                      {label}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
          )}
        </div>
        {isPlanned ? (
          <PlanCard
            serverName={server?.name ?? 'The server'}
            {...plan}
            onDraft={plan.setDraft}
            onRetry={plan.detectAgain}
            onRootFolder={(folder) => {
              setRootFolder(folder);
              setSettled({ ...settled, rootFolder: folder });
            }}
          />
        ) : null}
        <FurtherServers servers={servers.filter(({ id }) => id !== serverId)} needContainers={kind === 'image'} />
        {failure === null || Object.keys(failure.fields).length > 0 ? null : <ErrorNote>{failure.message}</ErrorNote>}
        {progress === null ? null : (
          <Meter
            label={progress.step === 'packing' ? 'Packing the folder' : 'Uploading'}
            share={progress.share}
            warnAbove={1}
            text={progress.step === 'packing' ? '' : `${Math.floor(progress.share * 100)} %`}
          />
        )}
        <div className="flex items-center justify-end gap-2">
          <HoverLink href={paths.apps} className={buttonClass('ghost')}>
            Cancel
          </HoverLink>
          <Button type="submit" variant="accent" pending={create.isPending}>
            {kind === 'ssh' ? 'Create deploy key' : kind === 'folder' ? 'Upload and deploy' : 'Deploy'}
          </Button>
        </div>
      </form>
    </Card>
  );
}

interface FurtherServersProps {
  readonly servers: readonly ServerSummary[];
  readonly needContainers: boolean;
}

function FurtherServers({ servers, needContainers }: FurtherServersProps) {
  if (servers.length === 0) return null;
  return (
    <details className="rounded-control border border-line">
      <summary className="cursor-pointer select-none rounded-control px-3 py-2 hover:bg-hover">
        Multiple servers
      </summary>
      <fieldset className="grid grid-cols-1 gap-2 border-line border-t p-3 sm:grid-cols-2">
        <legend className="sr-only">Also run it on</legend>
        {servers.map((server) => (
          <Checkbox
            key={server.id}
            name="further"
            value={server.id}
            disabled={needContainers && !canContain(server)}
            label={sayServer(server)}
          />
        ))}
      </fieldset>
    </details>
  );
}

/** Returns the kind of the source's credentials and the host that was typed. */
function credentialTarget(kind: SourceKind, address: string): { kind: 'https' | 'registry'; host: string } {
  const credential = kind === 'image' ? 'registry' : 'https';
  return { kind: credential, host: sourceHost(credential, { repositoryUrl: address, image: address }) };
}

const DEFAULT_BRANCH = "Default: the repository's default branch";

interface BranchQuery {
  readonly data: SourceBranches | undefined;
  readonly error: unknown;
  readonly isFetching: boolean;
}

/** Suggestions only: the server may still clone a URL that the branch query cannot reach. */
function branchHint({ data, error, isFetching }: BranchQuery): string {
  if (isFetching) return 'Loading branches…';
  if (error !== null) {
    const { fields, message } = readFailure(error);
    return `${fields.repositoryUrl ?? message} ${DEFAULT_BRANCH}`;
  }
  if (data === undefined) return DEFAULT_BRANCH;
  const { branches, defaultBranch } = data;
  if (branches.length === 0) return 'This repository has no branch yet.';
  const first = defaultBranch === null ? DEFAULT_BRANCH : `Default: ${defaultBranch}.`;
  return `${first} ${branches.length === 1 ? 'One branch' : `${branches.length} branches`} to choose from.`;
}
