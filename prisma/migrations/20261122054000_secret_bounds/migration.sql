-- Why the secrets of an app don't reach its server at the moment; null: nothing is wrong.
ALTER TABLE "placement" ADD COLUMN "secrets_problem" TEXT;

-- How many bytes a release is given at most: what all apps of a server are given together has to fit into one message.
ALTER TABLE "secret_snapshot" ADD COLUMN "size_bytes" INTEGER NOT NULL DEFAULT 0;
UPDATE "secret_snapshot" SET "size_bytes" = COALESCE((
  SELECT sum(version."size_bytes") FROM "secret_snapshot_entry" AS entry
  JOIN "secret_version" AS version ON version."id" = entry."version_id"
  WHERE entry."snapshot_id" = "secret_snapshot"."id" AND entry."exported"), 0);
