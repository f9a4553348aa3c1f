// What roles and permissions are called where people read them. Pure.
import type { Permission } from './me.tsx';

const BUILT_IN_ROLES = {
  owner: { label: 'Owner', may: 'may do everything' },
  admin: { label: 'Admin', may: 'everything but ending or handing over the organization' },
  deployer: { label: 'Deployer', may: 'deploys, also with a second pair of eyes' },
  developer: { label: 'Developer', may: 'makes apps, deploys and measures them' },
  viewer: { label: 'Viewer', may: 'sees everything, changes nothing' },
  billing: { label: 'Billing', may: 'sees everything, and what it costs' },
} as const;

interface RoleLabel {
  readonly label: string;
  /** In a few words; null for a role that the organization made. */
  readonly may: string | null;
}

/** `custom` names the organization's own roles by their id. */
export function roleLabel(role: string, custom: readonly { readonly id: string; readonly name: string }[]): RoleLabel {
  if (role in BUILT_IN_ROLES) return BUILT_IN_ROLES[role as keyof typeof BUILT_IN_ROLES];
  return { label: custom.find(({ id }) => id === role)?.name ?? 'Custom role', may: null };
}

/** By feature, in the order in which people think of them. */
export const PERMISSION_GROUPS: readonly {
  readonly title: string;
  readonly permissions: readonly (readonly [Permission, string])[];
}[] = [
  {
    title: 'Apps',
    permissions: [
      ['app.read', 'See apps'],
      ['app.write', 'Make and change apps'],
      ['app.delete', 'Delete apps'],
      ['metric.read', 'See charts'],
    ],
  },
  {
    title: 'Deployments',
    permissions: [
      ['deployment.read', 'See deployments and builds'],
      ['log.read', 'Read the logs of apps'],
      ['deployment.write', 'Deploy, roll back, cancel'],
      ['deployment.approve', "Approve others' deployments"],
      ['environment.write', 'Protect environments'],
    ],
  },
  {
    title: 'Secrets',
    permissions: [
      ['secret.read', 'See the names of secrets'],
      ['secret.write', 'Set secrets'],
      ['secret.reveal', 'Reveal values of secrets'],
    ],
  },
  {
    title: 'Domains',
    permissions: [
      ['domain.read', 'See domains'],
      ['domain.write', 'Attach and detach domains'],
    ],
  },
  {
    title: 'Servers',
    permissions: [
      ['server.read', 'See servers'],
      ['server.enrol', 'Add servers'],
      ['server.upgrade', 'Upgrade the agents of servers'],
      ['server.write', 'Change servers'],
      ['server.delete', 'Delete servers'],
    ],
  },
  {
    title: 'Benchmarks',
    permissions: [
      ['benchmark.read', 'See benchmarks'],
      ['benchmark.write', 'Run benchmarks'],
    ],
  },
  {
    title: 'People',
    permissions: [
      ['member.read', 'See members'],
      ['member.invite', 'Invite people'],
      ['member.write', 'Change and remove members'],
      ['role.read', 'See roles'],
      ['role.write', 'Make and change roles'],
      ['token.read', 'See API tokens'],
      ['token.write', 'Make and revoke API tokens'],
    ],
  },
  {
    title: 'Organization',
    permissions: [
      ['audit.read', 'Read the audit log'],
      ['billing.read', 'See billing'],
      ['organization.write', 'Change the organization'],
      ['organization.transfer', 'Hand the organization over'],
      ['organization.delete', 'Delete the organization'],
    ],
  },
];

export function permissionLabel(permission: Permission): string {
  const all = PERMISSION_GROUPS.flatMap(({ permissions }) => permissions);
  return all.find(([known]) => known === permission)?.[1] ?? permission;
}
