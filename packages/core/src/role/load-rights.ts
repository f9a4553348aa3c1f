// Loads the rights of members: of a person in their organizations, or of everyone in one; in one query.
// Invariant: it never returns more than the rows say; a deleted role has no permissions.
import { type MemberId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { OrganizationCtx, SystemCtx } from '../kernel/index.ts';
import { type HeldRole, type Rights, rightsOf, wholeOrganization } from './rights.ts';
import { permissionsOf } from './rules.ts';
import { type MemberRole, memberRoleSchema, type Permission, permissionSchema, roleSchema } from './schema.ts';

export interface Membership {
  readonly organizationId: OrganizationId;
  readonly organizationName: string;
  readonly organizationSlug: string;
  /** Members without a second factor are refused. */
  readonly requiresTwoFactor: boolean;
  /** When the organization is going to end; null: it stays. */
  readonly deleteAt: Date | null;
  readonly memberId: MemberId;
  readonly userId: string;
  readonly role: MemberRole;
  /** Name of a custom role; null for a built-in one. */
  readonly customName: string | null;
  readonly held: readonly HeldRole[];
  readonly rights: Rights;
}

interface Row {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly organizationSlug: string;
  readonly requiresTwoFactor: boolean;
  readonly deleteAt: Date | null;
  readonly memberId: string;
  readonly userId: string;
  readonly role: string;
  readonly customName: string | null;
  readonly customPermissions: string[] | null;
  readonly grants: readonly {
    readonly role: string;
    readonly projectId: string | null;
    readonly environmentId: string | null;
    readonly permissions: string[] | null;
  }[];
}

/** Every membership of a person, by the organization's name, but of those that are ending; only the one of `organizationSlug` when it is given. */
export async function loadRights(
  ctx: SystemCtx | OrganizationCtx,
  input: { readonly userId: string; readonly organizationSlug?: string; readonly organizationId?: OrganizationId },
): Promise<Membership[]> {
  const bySlug =
    input.organizationSlug === undefined ? Prisma.empty : Prisma.sql`AND organization.slug = ${input.organizationSlug}`;
  const byId =
    input.organizationId === undefined ? Prisma.empty : Prisma.sql`AND organization.id = ${input.organizationId}`;
  return queryMemberships(ctx, Prisma.sql`member.user_id = ${input.userId} ${bySlug} ${byId}`);
}

/** Rights of every member of an organization, unless it is ending. */
export async function listRights(ctx: OrganizationCtx): Promise<Membership[]> {
  return queryMemberships(ctx, Prisma.sql`member.organization_id = ${ctx.organizationId}`);
}

async function queryMemberships(ctx: SystemCtx | OrganizationCtx, where: Prisma.Sql): Promise<Membership[]> {
  const rows = await ctx.tx.$queryRaw<Row[]>`
    SELECT organization.id AS "organizationId", organization.name AS "organizationName",
           organization.slug AS "organizationSlug", organization.requires_two_factor AS "requiresTwoFactor",
           organization.delete_at AS "deleteAt", member.id AS "memberId", member.user_id AS "userId", member.role,
           custom.name AS "customName", custom.permissions AS "customPermissions",
           COALESCE((
             SELECT jsonb_agg(jsonb_build_object(
               'role', held.role, 'projectId', environment.project_id, 'environmentId', held.environment_id,
               'permissions', to_jsonb(role.permissions))
               || CASE WHEN held.project_id IS NULL THEN '{}' ELSE jsonb_build_object('projectId', held.project_id) END)
             FROM role_grant AS held
             LEFT JOIN custom_role AS role ON role.id = held.role AND role.organization_id = held.organization_id
             LEFT JOIN environment ON environment.id = held.environment_id
             WHERE held.member_id = member.id AND held.organization_id = member.organization_id), '[]') AS grants
    FROM member
    JOIN organization ON organization.id = member.organization_id
    LEFT JOIN custom_role AS custom ON custom.id = member.role AND custom.organization_id = member.organization_id
    WHERE organization.ending_at IS NULL AND ${where}
    ORDER BY organization.name, member.id`;
  return rows.map(toMembership);
}

/**
 * Returns the rights of one role in the whole organization without any grant, as a service account has. Never an
 * owner.
 */
export async function loadRoleRights(
  ctx: SystemCtx | OrganizationCtx,
  input: { readonly organizationId: OrganizationId; readonly role: string },
): Promise<Rights> {
  const { organizationId, role } = input;
  const custom = await ctx.tx.customRole.findFirst({
    where: { id: role, organizationId },
    select: { permissions: true },
  });
  const permissions = permissionsBehind(role, custom?.permissions ?? null);
  return { isOwner: false, organization: new Set(permissions), projects: new Map(), environments: new Map() };
}

function toMembership(row: Row): Membership {
  const role = memberRoleSchema.parse(row.role);
  const held: HeldRole[] = [
    { ...wholeOrganization, permissions: permissionsBehind(role, row.customPermissions) },
    ...row.grants.map((grant) => ({
      projectId: grant.projectId,
      environmentId: grant.environmentId,
      permissions: permissionsBehind(grant.role, grant.permissions),
    })),
  ];
  return {
    organizationId: parseId('org', row.organizationId),
    organizationName: row.organizationName,
    organizationSlug: row.organizationSlug,
    requiresTwoFactor: row.requiresTwoFactor,
    deleteAt: row.deleteAt,
    memberId: parseId('mem', row.memberId),
    userId: row.userId,
    role,
    customName: row.customName,
    held,
    rights: rightsOf(role, held),
  };
}

function permissionsBehind(role: string, custom: readonly string[] | null): Permission[] {
  const builtIn = roleSchema.safeParse(role);
  return builtIn.success ? permissionsOf(builtIn.data) : knownPermissions(custom ?? []);
}

/** Drops unknown permissions: a newer or an older version may have stored names that this one does not have. */
export function knownPermissions(stored: readonly string[]): Permission[] {
  return permissionSchema.options.filter((permission) => stored.includes(permission));
}
