// Refuses a database that does not enforce row-level security, and one with too few connections for all processes.
import type { PoolSizes } from '@fairlead/settings';
import { connectionsNeeded } from './connections.ts';
import type { PrismaClient } from './generated/client.ts';
import { systemRole, tenantRole } from './scope.ts';
import { unprotectedTables } from './tables.ts';

export class UnsafeDatabaseError extends Error {
  readonly findings: readonly string[];

  constructor(findings: readonly string[]) {
    super(`The database is not safe to serve from: ${findings.join(' ')}`);
    this.name = 'UnsafeDatabaseError';
    this.findings = findings;
  }
}

interface RoleRow {
  readonly name: string;
  readonly superuser: boolean;
  readonly bypassesRowSecurity: boolean;
  readonly isLogin: boolean;
  readonly mayEnter: boolean;
  readonly inherited: boolean;
}

export async function assertSafe(client: PrismaClient, pools: PoolSizes): Promise<void> {
  const roles = await client.$queryRaw<RoleRow[]>`
    SELECT rolname AS "name", rolsuper AS "superuser", rolbypassrls AS "bypassesRowSecurity",
           rolname = session_user AS "isLogin", pg_has_role(session_user, oid, 'SET') AS "mayEnter",
           pg_has_role(session_user, oid, 'USAGE') AS "inherited"
    FROM pg_roles WHERE rolname IN (session_user, ${tenantRole}, ${systemRole})`;
  const findings: string[] = [];
  for (const role of roles) {
    if (role.superuser) findings.push(`Role ${role.name} is a superuser; use an ordinary role.`);
    if (role.bypassesRowSecurity) findings.push(`Role ${role.name} has BYPASSRLS; take it away.`);
    if (role.isLogin || role.superuser) continue;
    if (!role.mayEnter)
      findings.push(`The login role may not SET ROLE ${role.name}; grant it WITH INHERIT FALSE, SET TRUE.`);
    if (role.inherited) findings.push(`The login role inherits ${role.name}; grant it WITH INHERIT FALSE.`);
  }
  for (const expected of [tenantRole, systemRole]) {
    if (!roles.some((role) => role.name === expected))
      findings.push(`Role ${expected} is missing; run the migrations.`);
  }
  const open = await unprotectedTables(client);
  if (open.length > 0) findings.push(`Row-level security is not forced on ${open.join(', ')}.`);
  const free = await connectionLimit(client);
  const needed = connectionsNeeded(pools);
  if (free < needed) {
    findings.push(`The server lets ${free} connections in, ${needed} are needed; raise max_connections.`);
  }
  if (findings.length > 0) throw new UnsafeDatabaseError(findings);
}

/** Returns the connections that ordinary roles may use together; a limit of the database itself counts too. */
async function connectionLimit(client: PrismaClient): Promise<number> {
  const [row] = await client.$queryRaw<{ readonly connections: number }[]>`
    SELECT least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - current_setting('reserved_connections')::int,
      nullif((SELECT datconnlimit FROM pg_database WHERE datname = current_database()), -1)
    ) AS "connections"`;
  return row?.connections ?? 0;
}
