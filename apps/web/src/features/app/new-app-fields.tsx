'use client';
// Fields of the form of a new app: server, branch, environment, builder and additional servers.
import { supports } from '@fairlead/contract/capabilities';
import { Checkbox, Field, Input, Select } from '@fairlead/ui/input';
import { useQuery } from '@tanstack/react-query';
import { readFailure } from '../../api/failure.ts';
import { useTRPC } from '../../api/trpc.tsx';
import type { ServerSummary, SourceBranches } from '../../api/types.ts';
import { serverLabel } from '../../common/server/server-options.tsx';

interface FieldProps {
  readonly error: string | undefined;
}

export function canContain({ capabilities }: ServerSummary): boolean {
  return supports(capabilities, 'container');
}

export interface ServerFieldProps extends FieldProps {
  readonly servers: readonly ServerSummary[];
  readonly value: ServerSummary | undefined;
  readonly needsContainers: boolean;
  readonly onValue: (serverId: ServerSummary['id'] | undefined) => void;
}

export function ServerField({ servers, value, needsContainers, error, onValue }: ServerFieldProps) {
  const lacksContainers = needsContainers && value !== undefined && !canContain(value);
  return (
    <Field label="Server" hint={lacksContainers ? "This server can't run containers." : null} error={error}>
      {(control) => (
        <Select
          {...control}
          value={value?.id}
          onChange={(event) => onValue(servers.find(({ id }) => id === event.target.value)?.id)}
        >
          {servers.map((server) => (
            <option key={server.id} value={server.id} disabled={needsContainers && !canContain(server)}>
              {serverLabel(server)}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

export interface BranchFieldProps extends FieldProps {
  /** Repository whose branches are suggested; null if they cannot be listed. */
  readonly repositoryUrl: string | null;
  /** Branches that were listed otherwise. */
  readonly known?: SourceBranches | undefined;
  readonly onLeave: (branch: string) => void;
}

export function BranchField({ repositoryUrl, known, error, onLeave }: BranchFieldProps) {
  const listed = useQuery({
    ...useTRPC().source.branches.queryOptions({ repositoryUrl: repositoryUrl ?? '' }),
    enabled: repositoryUrl !== null,
    retry: false,
  });
  const branches = known === undefined ? listed : { data: known, error: null, isFetching: false };
  return (
    <Field label="Branch" hint={branchHint(branches)} error={error}>
      {(control) => (
        <>
          <Input
            {...control}
            mono
            name="branch"
            onBlur={(event) => onLeave(event.target.value.trim())}
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
  );
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

export interface EnvironmentFieldProps {
  readonly environments: readonly { readonly id: string; readonly name: string; readonly projectName: string }[];
}

export function EnvironmentField({ environments }: EnvironmentFieldProps) {
  const hasProjects = environments.some(({ projectName }) => projectName !== environments[0]?.projectName);
  return (
    <Field label="Environment" hint="You can add more later.">
      {(control) => (
        <Select {...control} name="environmentId">
          {environments.map(({ id, name, projectName }) => (
            <option key={id} value={id}>
              {hasProjects ? `${projectName} / ${name}` : name}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

const builders = [
  { value: 'auto', label: 'Auto-detect' },
  { value: 'native', label: 'Language buildpack' },
  { value: 'dockerfile', label: 'Dockerfile' },
] as const;

export type Builder = (typeof builders)[number]['value'];

export interface BuilderFieldProps {
  readonly value: Builder;
  /** True if a server can run containers. */
  readonly hasContainers: boolean;
  readonly onValue: (builder: Builder) => void;
}

export function BuilderField({ value, hasContainers, onValue }: BuilderFieldProps) {
  return (
    <Field
      label="Builder"
      hint={
        hasContainers
          ? 'A Dockerfile takes precedence if there is one.'
          : 'A Dockerfile needs Docker. No server here has it.'
      }
    >
      {(control) => (
        <Select
          {...control}
          value={value}
          onChange={(event) => onValue(builders.find((each) => each.value === event.target.value)?.value ?? 'auto')}
        >
          {builders.map((builder) => (
            <option
              key={builder.value}
              value={builder.value}
              disabled={builder.value === 'dockerfile' && !hasContainers}
            >
              {builder.label}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

export interface AdditionalServersProps {
  readonly servers: readonly ServerSummary[];
  readonly needsContainers: boolean;
}

export function AdditionalServers({ servers, needsContainers }: AdditionalServersProps) {
  if (servers.length === 0) return null;
  return (
    <details className="rounded-control border border-line">
      <summary className="cursor-pointer select-none rounded-control px-3 py-2 hover:bg-hover">
        Multiple servers
      </summary>
      <fieldset className="grid grid-cols-1 gap-2 border-line border-t p-3 sm:grid-cols-2">
        <legend className="sr-only">Additional servers</legend>
        {servers.map((server) => (
          <Checkbox
            key={server.id}
            name="additionalServerIds"
            value={server.id}
            disabled={needsContainers && !canContain(server)}
            label={serverLabel(server)}
          />
        ))}
      </fieldset>
    </details>
  );
}
