// What a token may carry, in the order and the words in which people choose it. Pure.
import type { Inputs } from '../../api/types.ts';
import { PERMISSION_GROUPS } from '../../common/role-words.ts';

export type TokenPermission = Inputs['token']['create']['permissions'][number];

export interface PermissionGroup {
  readonly title: string;
  readonly permissions: readonly { readonly permission: TokenPermission; readonly label: string }[];
}

/** Of these, by feature, as roles show them. */
export function groupsOf(grantable: readonly TokenPermission[]): PermissionGroup[] {
  return PERMISSION_GROUPS.map(({ title, permissions }) => ({
    title,
    permissions: permissions.flatMap(([known, label]) => {
      const permission = grantable.find((each) => each === known);
      return permission === undefined ? [] : [{ permission, label }];
    }),
  })).filter(({ permissions }) => permissions.length > 0);
}

/** One network or address a line, or between commas. */
export function readRanges(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '');
}

export const LIFETIMES = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['366', 'A year'],
] as const;
