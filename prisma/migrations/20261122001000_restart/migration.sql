-- New instances of the live release are rolled out as a deployment of their own.
ALTER TABLE deployment DROP CONSTRAINT deployment_trigger_known;
ALTER TABLE deployment ADD CONSTRAINT deployment_trigger_known
  CHECK (trigger IN ('manual', 'redeploy', 'rollback', 'push', 'secret', 'restart'));
