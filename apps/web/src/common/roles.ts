// The built-in roles in words. Pure. What a role may do in detail is the API's to say.
import type { Me } from '../api/types.ts';

export type MemberRole = Me['organizations'][number]['role'];

interface RoleWords {
  readonly label: string;
  readonly may: string;
}

const BUILT_IN: Readonly<Record<string, RoleWords>> = {
  owner: { label: 'Owner', may: 'may do everything' },
  admin: { label: 'Admin', may: 'may do everything but end or hand over the organization' },
  deployer: { label: 'Deployer', may: 'deploys, also to protected environments' },
  developer: { label: 'Developer', may: 'makes, deploys and measures apps' },
  viewer: { label: 'Viewer', may: 'sees everything, changes nothing' },
  billing: { label: 'Billing', may: 'sees everything and what it costs' },
};

export function roleWords(role: string, customName?: string | undefined): RoleWords {
  return BUILT_IN[role] ?? { label: customName ?? 'Custom role', may: 'a role of this organization' };
}
