// Tables that do not belong to an organization. Every other table must have forced row-level security with the tenant
// policy; a test and the start-up check compare this list with the live catalogue.
import type { PrismaClient } from './generated/client.ts';

/**
 * Identity tables, owned by the login role for better-auth. A tenant sees the names of its members through a policy on
 * `user`.
 */
export const identityTables = [
  'user',
  'session',
  'account',
  'verification',
  'sign_in_attempt',
  'passkey',
  'two_factor',
  'known_device',
  'account_link',
  'account_event',
  'github_account',
] as const;

/** The control plane's own. Only system scope sees them. */
export const systemTables = [
  'setup_token',
  'signing_key',
  'metric.roll_up_due',
  'call_count',
  'open_stream',
  'backup',
  'update_check',
] as const;

/** Books of tools; no role but the login role reaches them. */
export const bookkeepingTables = ['_prisma_migrations'] as const;

/**
 * Returns tables that are on no list and do not enable and force row-level security. The job queue's tables have no
 * grants.
 */
export async function unprotectedTables(client: Pick<PrismaClient, '$queryRaw'>): Promise<readonly string[]> {
  const listed = [...identityTables, ...bookkeepingTables] as readonly string[];
  const rows = await client.$queryRaw<{ readonly name: string }[]>`
    SELECT namespace.nspname || '.' || class.relname AS "name"
    FROM pg_class class JOIN pg_namespace namespace ON namespace.oid = class.relnamespace
    WHERE class.relkind IN ('r', 'p') AND namespace.nspname NOT IN ('information_schema', 'graphile_worker')
      AND namespace.nspname NOT LIKE 'pg\\_%'
      AND NOT (class.relrowsecurity AND class.relforcerowsecurity)
      AND NOT (namespace.nspname = 'public' AND class.relname = ANY(${listed}))
    ORDER BY 1`;
  return rows.map((row) => row.name);
}
