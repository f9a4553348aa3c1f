-- Settings as versions, several servers of one app, roll-outs in waves, the artifact store, volumes and what opens a source.
CREATE TABLE "app_config" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "settings" JSONB NOT NULL,
    "author_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "app_config_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "deployment_server" (
    "organization_id" TEXT NOT NULL,
    "deployment_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "state" TEXT NOT NULL,
    "former_release_id" TEXT,
    "revert_id" TEXT,
    "heartbeat_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3),
    "failure_message" TEXT,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "deployment_server_pkey" PRIMARY KEY ("deployment_id", "server_id")
);

CREATE TABLE "artifact" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "digest" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "unneeded_since" TIMESTAMPTZ(3),

    CONSTRAINT "artifact_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "volume" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "label" TEXT NOT NULL,
    "used_bytes" JSONB NOT NULL DEFAULT '{}',
    "reported_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "delete_at" TIMESTAMPTZ(3),

    CONSTRAINT "volume_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "source_credential" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "username" TEXT NOT NULL DEFAULT '',
    "public_key" TEXT NOT NULL DEFAULT '',
    "known_hosts" TEXT NOT NULL DEFAULT '',
    "data_key_id" TEXT NOT NULL,
    "envelope" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "source_credential_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "placement" ADD COLUMN "deploys_paused_at" TIMESTAMPTZ(3);
ALTER TABLE "instance"
  ADD COLUMN "process" TEXT NOT NULL DEFAULT 'web',
  ADD COLUMN "cpu_millis" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "memory_bytes" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "deployment"
  ADD COLUMN "config_id" TEXT,
  ADD COLUMN "upload_digest" TEXT,
  ADD COLUMN "without_cache" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "build_server_id" TEXT,
  ADD COLUMN "ending" TEXT;
ALTER TABLE "server" ADD COLUMN "transfer_token_hash" TEXT, ADD COLUMN "disk" JSONB;
ALTER TABLE "release"
  ADD COLUMN "artifact_kind" TEXT NOT NULL DEFAULT 'archive',
  ADD COLUMN "plan" JSONB NOT NULL DEFAULT '{}',
  ADD COLUMN "config_id" TEXT,
  ADD COLUMN "environment_id" TEXT;
-- Until now an app lived in one environment.
UPDATE release SET environment_id = (
  SELECT placement.environment_id FROM placement WHERE placement.app_id = release.app_id
  ORDER BY placement.created_at, placement.id LIMIT 1);
ALTER TABLE "release" ALTER COLUMN "environment_id" SET NOT NULL;

DROP INDEX "placement_app_id_environment_id_key";
CREATE UNIQUE INDEX "placement_app_id_environment_id_server_id_key" ON "placement"("app_id", "environment_id", "server_id");
CREATE INDEX "app_config_environment_id_idx" ON "app_config"("environment_id");
CREATE UNIQUE INDEX "app_config_app_id_environment_id_number_key" ON "app_config"("app_id", "environment_id", "number");
CREATE UNIQUE INDEX "app_config_organization_id_id_key" ON "app_config"("organization_id", "id");
CREATE UNIQUE INDEX "deployment_server_revert_id_key" ON "deployment_server"("revert_id");
CREATE INDEX "deployment_server_server_id_idx" ON "deployment_server"("server_id");
CREATE UNIQUE INDEX "artifact_organization_id_digest_key" ON "artifact"("organization_id", "digest");
CREATE UNIQUE INDEX "volume_app_id_environment_id_name_key" ON "volume"("app_id", "environment_id", "name");
CREATE UNIQUE INDEX "volume_organization_id_id_key" ON "volume"("organization_id", "id");
CREATE INDEX "source_credential_data_key_id_idx" ON "source_credential"("data_key_id");
CREATE UNIQUE INDEX "source_credential_app_id_kind_key" ON "source_credential"("app_id", "kind");
CREATE UNIQUE INDEX "source_credential_organization_id_id_key" ON "source_credential"("organization_id", "id");
CREATE UNIQUE INDEX "server_transfer_token_hash_key" ON "server"("transfer_token_hash");
CREATE INDEX "release_environment_id_idx" ON "release"("environment_id");
CREATE INDEX "release_config_id_idx" ON "release"("config_id");
CREATE INDEX "deployment_config_id_idx" ON "deployment"("config_id");

ALTER TABLE deployment DROP CONSTRAINT deployment_trigger_known, DROP CONSTRAINT deployment_state_known;
ALTER TABLE deployment
  ADD CONSTRAINT deployment_trigger_known
    CHECK (trigger IN ('manual', 'redeploy', 'rollback', 'push', 'secret', 'restart', 'retry', 'promote', 'upload')),
  ADD CONSTRAINT deployment_state_known CHECK (state IN
    ('queued', 'building', 'releasing', 'rolling_out', 'live', 'failed', 'cancelled', 'superseded')),
  ADD CONSTRAINT deployment_ending_known CHECK (ending IN ('failed', 'cancelled'));
ALTER TABLE deployment_server ADD CONSTRAINT deployment_server_state_known
  CHECK (state IN ('waiting', 'rolling_out', 'live', 'failed', 'cancelled', 'reverting', 'reverted'));
ALTER TABLE artifact ADD CONSTRAINT artifact_kind_known CHECK (kind IN ('build', 'upload'));
ALTER TABLE release ADD CONSTRAINT release_artifact_kind_known CHECK (artifact_kind IN ('archive', 'image'));
ALTER TABLE source_credential ADD CONSTRAINT source_credential_kind_known CHECK (kind IN ('ssh', 'https', 'registry'));
DROP INDEX deployment_under_way;
DROP INDEX deployment_unfinished;
CREATE UNIQUE INDEX deployment_under_way ON deployment (app_id, environment_id)
  WHERE state IN ('building', 'releasing', 'rolling_out');
CREATE INDEX deployment_unfinished ON deployment (state, deadline_at)
  WHERE state IN ('queued', 'building', 'releasing', 'rolling_out');

-- Cascades run in the order of their constraints: what is encrypted goes before the keys.
ALTER TABLE "data_key" DROP CONSTRAINT "data_key_organization_id_fkey";
ALTER TABLE "source_credential" ADD CONSTRAINT "source_credential_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "data_key" ADD CONSTRAINT "data_key_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "source_credential" ADD CONSTRAINT "source_credential_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "source_credential" ADD CONSTRAINT "source_credential_organization_id_data_key_id_fkey" FOREIGN KEY ("organization_id", "data_key_id") REFERENCES "data_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "app_config" ADD CONSTRAINT "app_config_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "app_config" ADD CONSTRAINT "app_config_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "deployment_server" ADD CONSTRAINT "deployment_server_organization_id_deployment_id_fkey" FOREIGN KEY ("organization_id", "deployment_id") REFERENCES "deployment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "artifact" ADD CONSTRAINT "artifact_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "volume" ADD CONSTRAINT "volume_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_organization_id_config_id_fkey" FOREIGN KEY ("organization_id", "config_id") REFERENCES "app_config"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "release" ADD CONSTRAINT "release_organization_id_config_id_fkey" FOREIGN KEY ("organization_id", "config_id") REFERENCES "app_config"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "release" ADD CONSTRAINT "release_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY['app_config', 'deployment_server', 'artifact', 'volume', 'source_credential']) AS name;
