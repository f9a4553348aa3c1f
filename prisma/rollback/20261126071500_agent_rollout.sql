-- Takes the migration of agent_rollout back, for the version before it: psql "$DATABASE_URL" -f this file, with the control
-- plane stopped. Agents keep the program that they run; a rollout that runs is forgotten.
BEGIN;
DROP TABLE agent_rollout_server;
DROP TABLE agent_rollout;
UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '20261126071500_agent_rollout';
COMMIT;
