// Describes what saving the role matrix would change; lost permissions come first. Pure.
import type { Permission } from '../../common/organization/me.tsx';

export interface RoleChange {
  readonly lost: readonly Permission[];
  readonly gained: readonly Permission[];
}

/** Returns null when nothing changed. */
export function comparePermissions(before: readonly Permission[], after: ReadonlySet<Permission>): RoleChange | null {
  const lost = before.filter((permission) => !after.has(permission));
  const gained = [...after].filter((permission) => !before.includes(permission));
  return lost.length + gained.length === 0 ? null : { lost, gained };
}

/** Returns a sentence such as "2 members lose: Deploy. They gain: See servers." */
export function describeChange(
  { lost, gained }: RoleChange,
  holders: number,
  label: (permission: Permission) => string,
): string {
  const who = holders === 0 ? 'Anyone with this role' : holders === 1 ? '1 member' : `${holders} members`;
  const one = holders <= 1;
  const list = (permissions: readonly Permission[]) => permissions.map(label).join(', ');
  if (lost.length === 0) return `${who} ${one ? 'gains' : 'gain'}: ${list(gained)}.`;
  const losses = `${who} ${one ? 'loses' : 'lose'}: ${list(lost)}.`;
  return gained.length === 0 ? losses : `${losses} Gained: ${list(gained)}.`;
}
