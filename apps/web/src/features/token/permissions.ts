// Permissions that a token may have, with their labels in display order. Pure.
import type { EnvironmentId, ProjectId } from '@fairlead/contract/ids';
import type { Inputs } from '../../api/types.ts';
import { PERMISSION_GROUPS } from '../../common/organization/role-labels.ts';

export type TokenPermission = Inputs['token']['create']['permissions'][number];

export interface PermissionGroup {
  readonly title: string;
  readonly permissions: readonly { readonly permission: TokenPermission; readonly label: string }[];
}

/** Returns the grantable permissions in the groups of the roles page. */
export function groupsOf(grantable: readonly TokenPermission[]): PermissionGroup[] {
  return PERMISSION_GROUPS.map(({ title, permissions }) => ({
    title,
    permissions: permissions.flatMap(([known, label]) => {
      const permission = grantable.find((each) => each === known);
      return permission === undefined ? [] : [{ permission, label }];
    }),
  })).filter(({ permissions }) => permissions.length > 0);
}

/** Splits networks and addresses at line breaks and commas. */
export function readRanges(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '');
}

export const LIFETIMES = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['366', '1 year'],
] as const;

interface ScopeProject {
  readonly id: ProjectId;
  readonly name: string;
  readonly environments: readonly { readonly id: EnvironmentId; readonly name: string }[];
}

export interface TokenScope {
  /** Id of the environment or the project. */
  readonly value: string;
  readonly label: string;
  readonly input: { readonly environmentId: EnvironmentId } | { readonly projectId: ProjectId };
}

/** Returns the scopes that a token can be limited to, the narrowest first. */
export function scopesOf(projects: readonly ScopeProject[]): TokenScope[] {
  return [
    ...projects.flatMap(({ name, environments }) =>
      environments.map(({ id, name: environmentName }) => ({
        value: id,
        label: `${name} / ${environmentName}`,
        input: { environmentId: id },
      })),
    ),
    ...projects.map(({ id, name }) => ({ value: id, label: `Project ${name}`, input: { projectId: id } })),
  ];
}
