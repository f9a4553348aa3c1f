// What a token may carry, in the order and the words in which people choose it. Pure.
import { type TokenPermission, tokenPermissionSchema } from '@fairlead/core/token/schema';

export interface PermissionGroup {
  readonly feature: string;
  readonly permissions: readonly TokenPermission[];
}

/** Of what tokens may carry, what whoever makes one holds, by feature. */
export function groupsOf(may: (permission: TokenPermission) => boolean): PermissionGroup[] {
  const groups = new Map<string, TokenPermission[]>();
  for (const permission of tokenPermissionSchema.options) {
    if (!may(permission)) continue;
    const feature = permission.slice(0, permission.indexOf('.'));
    groups.set(feature, [...(groups.get(feature) ?? []), permission]);
  }
  return [...groups].map(([feature, permissions]) => ({ feature, permissions }));
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
