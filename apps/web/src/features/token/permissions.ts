// What a token may carry, in the order and the words in which people choose it. Pure.
import type { Inputs } from '../../api/types.ts';

export type TokenPermission = Inputs['token']['create']['permissions'][number];

export interface PermissionGroup {
  readonly feature: string;
  readonly permissions: readonly TokenPermission[];
}

/** By feature, in the order given. */
export function groupsOf(permissions: readonly TokenPermission[]): PermissionGroup[] {
  const groups = new Map<string, TokenPermission[]>();
  for (const permission of permissions) {
    const feature = permission.slice(0, permission.indexOf('.'));
    groups.set(feature, [...(groups.get(feature) ?? []), permission]);
  }
  return [...groups].map(([feature, ofFeature]) => ({ feature, permissions: ofFeature }));
}

export function verbOf(permission: TokenPermission): string {
  return permission.slice(permission.indexOf('.') + 1);
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
