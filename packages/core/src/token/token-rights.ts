// Narrows a token's rights to those of its owner: never more than both of them have. Pure.
import { limitRights, may, type Permission, type Rights } from '../role/index.ts';

/** Scope of a token, with everything below it. */
export type TokenPlace =
  | { readonly kind: 'everywhere' }
  | { readonly kind: 'project'; readonly projectId: string; readonly environmentIds: readonly string[] }
  | { readonly kind: 'environment'; readonly projectId: string; readonly environmentId: string };

export function tokenRights(owner: Rights, permissions: ReadonlySet<Permission>, place: TokenPlace): Rights {
  const limited = limitRights(owner, permissions);
  if (place.kind === 'everywhere') return limited;
  const { projectId } = place;
  const within = (environmentId: string | null) =>
    new Set([...permissions].filter((permission) => may(limited, permission, { projectId, environmentId })));
  const nowhere = { isOwner: false, organization: new Set<Permission>(), projects: new Map() };
  if (place.kind === 'environment') {
    return { ...nowhere, environments: new Map([[place.environmentId, within(place.environmentId)]]) };
  }
  return {
    ...nowhere,
    projects: new Map([[projectId, within(null)]]),
    environments: new Map(place.environmentIds.map((id) => [id, within(id)] as const)),
  };
}
