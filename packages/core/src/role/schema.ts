// Names of roles and permissions in the API. Their permissions are in rules.ts.
import { customRoleIdSchema } from '@fairlead/contract/ids';
import { z } from 'zod';
import { nameSchema } from '../kernel/text.ts';

/** The roles that every organization has. */
export const roleSchema = z.enum(['owner', 'admin', 'deployer', 'developer', 'viewer']);
export type Role = z.infer<typeof roleSchema>;

/** Role of a member or a grant: a built-in role, or the id of a custom role of the organization. */
export const memberRoleSchema = z.union([roleSchema, customRoleIdSchema]);
export type MemberRole = z.infer<typeof memberRoleSchema>;

export const permissionSchema = z.enum([
  'app.read',
  'app.write',
  'app.delete',
  'audit.read',
  'benchmark.publish',
  'benchmark.read',
  'benchmark.write',
  'deployment.approve',
  'deployment.read',
  'deployment.write',
  'domain.read',
  'domain.write',
  'environment.write',
  'log.read',
  'member.invite',
  'member.read',
  'member.write',
  'metric.read',
  'organization.delete',
  'organization.transfer',
  'organization.write',
  'project.write',
  'role.read',
  'role.write',
  'secret.read',
  'secret.reveal',
  'secret.write',
  'server.delete',
  'server.enrol',
  'server.read',
  'server.upgrade',
  'server.write',
  'token.read',
  'token.write',
]);
export type Permission = z.infer<typeof permissionSchema>;

/** Permissions of owners only: no custom role may have them. */
export const ownerPermissions = ['organization.delete', 'organization.transfer'] as const satisfies Permission[];

/** Permissions of a custom role, each once and in the order of the list. */
const rolePermissionsSchema = z
  .array(permissionSchema.exclude([...ownerPermissions]))
  .max(permissionSchema.options.length)
  .transform((wanted) =>
    permissionSchema.options.filter((permission) => (wanted as Permission[]).includes(permission)),
  );

export const roleRefSchema = z.object({ roleId: customRoleIdSchema });
export type RoleRef = z.infer<typeof roleRefSchema>;

export const createRoleInputSchema = z.object({ name: nameSchema, permissions: rolePermissionsSchema });
export type CreateRoleInput = z.infer<typeof createRoleInputSchema>;

export const updateRoleInputSchema = roleRefSchema.extend({
  name: nameSchema.optional(),
  permissions: rolePermissionsSchema.optional(),
});
export type UpdateRoleInput = z.infer<typeof updateRoleInputSchema>;

export const roleListSchema = z.object({
  builtIn: z.array(z.object({ role: roleSchema, permissions: z.array(permissionSchema), holders: z.number().int() })),
  custom: z.array(
    z.object({
      id: customRoleIdSchema,
      name: z.string(),
      permissions: z.array(permissionSchema),
      /** Members who hold it in the organization or by a grant. */
      holders: z.number().int(),
    }),
  ),
});
export type RoleList = z.infer<typeof roleListSchema>;
