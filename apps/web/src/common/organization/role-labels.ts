// Labels of roles and permissions. Pure.
import type { Permission } from './me.tsx';

const BUILT_IN_ROLES = {
  owner: { label: 'Owner', summary: 'Full access' },
  admin: { label: 'Admin', summary: 'Full access, except deleting or transferring the organization' },
  deployer: { label: 'Deployer', summary: 'Deploy and approve deployments' },
  developer: { label: 'Developer', summary: 'Create, deploy and benchmark apps' },
  viewer: { label: 'Viewer', summary: 'Read-only' },
} as const;

interface RoleLabel {
  readonly label: string;
  /** Short description; null for a custom role. */
  readonly summary: string | null;
}

/** Returns a role's label; `custom` names the organization's own roles by id. */
export function roleLabel(role: string, custom: readonly { readonly id: string; readonly name: string }[]): RoleLabel {
  if (role in BUILT_IN_ROLES) return BUILT_IN_ROLES[role as keyof typeof BUILT_IN_ROLES];
  return { label: custom.find(({ id }) => id === role)?.name ?? 'Custom role', summary: null };
}

/** Permissions grouped by feature, in the order of the dashboard. */
export const PERMISSION_GROUPS: readonly {
  readonly title: string;
  readonly permissions: readonly (readonly [Permission, string])[];
}[] = [
  {
    title: 'Apps',
    permissions: [
      ['app.read', 'See apps'],
      ['app.write', 'Create and change apps'],
      ['app.delete', 'Delete apps'],
      ['project.write', 'Change projects and move apps'],
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
      ['benchmark.publish', 'Publish benchmark reports'],
    ],
  },
  {
    title: 'People',
    permissions: [
      ['member.read', 'See members'],
      ['member.invite', 'Invite people'],
      ['member.write', 'Change and remove members'],
      ['role.read', 'See roles'],
      ['role.write', 'Create and change roles'],
      ['token.read', 'See API tokens'],
      ['token.write', 'Create and revoke API tokens'],
    ],
  },
  {
    title: 'Organization',
    permissions: [
      ['audit.read', 'Read the audit log'],
      ['organization.write', 'Change the organization'],
      ['organization.transfer', 'Transfer the organization'],
      ['organization.delete', 'Delete organization'],
    ],
  },
];

export function permissionLabel(permission: Permission): string {
  const all = PERMISSION_GROUPS.flatMap(({ permissions }) => permissions);
  return all.find(([known]) => known === permission)?.[1] ?? permission;
}
