// Owns the names of roles and permissions as they cross the API. Must never decide who may do what: rules.ts does.
import { z } from 'zod';

export const roleSchema = z.enum(['owner', 'admin', 'developer', 'viewer']);
export type Role = z.infer<typeof roleSchema>;

export const permissionSchema = z.enum([
  'app.read',
  'app.write',
  'app.delete',
  'deployment.read',
  'deployment.write',
  'domain.read',
  'domain.write',
  'server.read',
  'server.enrol',
  'server.delete',
  'metric.read',
  'benchmark.read',
  'benchmark.write',
  'member.read',
]);
export type Permission = z.infer<typeof permissionSchema>;
