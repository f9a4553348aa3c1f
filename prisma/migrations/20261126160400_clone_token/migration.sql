-- Tokens of GitHub installations that builds clone with expire; passwords and keys that people entered do not.
ALTER TABLE "source_credential" ADD COLUMN "expires_at" TIMESTAMPTZ(3);
ALTER TABLE source_credential DROP CONSTRAINT source_credential_kind_known;
ALTER TABLE source_credential ADD CONSTRAINT source_credential_kind_known
  CHECK (kind IN ('ssh', 'https', 'registry', 'github') AND (kind = 'github') = (expires_at IS NOT NULL));
