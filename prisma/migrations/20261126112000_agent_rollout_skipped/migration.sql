-- End of a rollout that upgraded no server.
ALTER TABLE agent_rollout DROP CONSTRAINT agent_rollout_state_known;
ALTER TABLE agent_rollout ADD CONSTRAINT agent_rollout_state_known
  CHECK (state IN ('running', 'stopped', 'succeeded', 'skipped', 'cancelled'));
