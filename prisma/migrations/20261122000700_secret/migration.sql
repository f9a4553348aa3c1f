-- Secrets: values are envelopes that only the data key of their organization opens, and that key is wrapped by the master
-- key, which no table holds.
CREATE TABLE "data_key" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "wrapped" BYTEA NOT NULL,
    "master_key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "retired_at" TIMESTAMPTZ(3),

    CONSTRAINT "data_key_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "secret_group" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "secret_group_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "secret_group_app" (
    "group_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "secret_group_app_pkey" PRIMARY KEY ("group_id", "app_id")
);

CREATE TABLE "secret" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT,
    "environment_id" TEXT,
    "group_id" TEXT,
    "name" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "reminded_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "secret_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "secret_version" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "secret_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "data_key_id" TEXT NOT NULL,
    "envelope" BYTEA NOT NULL,
    "size_bytes" INTEGER NOT NULL,
    "references" TEXT[],
    "delivery" TEXT NOT NULL,
    "sealed" BOOLEAN NOT NULL,
    "author_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "secret_version_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "secret_snapshot" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "digest" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "secret_snapshot_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "secret_snapshot_entry" (
    "snapshot_id" TEXT NOT NULL,
    "version_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "exported" BOOLEAN NOT NULL,

    CONSTRAINT "secret_snapshot_entry_pkey" PRIMARY KEY ("snapshot_id", "version_id")
);

ALTER TABLE "app" ADD COLUMN "expected_secret_names" TEXT[] DEFAULT ARRAY[]::TEXT[];
ALTER TABLE "release" ADD COLUMN "secret_snapshot_id" TEXT;
ALTER TABLE "server" ADD COLUMN "sealing_recipient" TEXT;

CREATE UNIQUE INDEX "data_key_organization_id_id_key" ON "data_key"("organization_id", "id");
CREATE INDEX "secret_group_project_id_idx" ON "secret_group"("project_id");
CREATE UNIQUE INDEX "secret_group_organization_id_id_key" ON "secret_group"("organization_id", "id");
CREATE INDEX "secret_group_app_app_id_idx" ON "secret_group_app"("app_id");
CREATE INDEX "secret_environment_id_idx" ON "secret"("environment_id");
CREATE UNIQUE INDEX "secret_organization_id_id_key" ON "secret"("organization_id", "id");
CREATE UNIQUE INDEX "secret_app_id_environment_id_name_key" ON "secret"("app_id", "environment_id", "name");
CREATE UNIQUE INDEX "secret_group_id_name_key" ON "secret"("group_id", "name");
CREATE INDEX "secret_version_data_key_id_idx" ON "secret_version"("data_key_id");
CREATE UNIQUE INDEX "secret_version_organization_id_id_key" ON "secret_version"("organization_id", "id");
CREATE UNIQUE INDEX "secret_version_secret_id_number_key" ON "secret_version"("secret_id", "number");
CREATE INDEX "secret_snapshot_environment_id_idx" ON "secret_snapshot"("environment_id");
CREATE UNIQUE INDEX "secret_snapshot_organization_id_id_key" ON "secret_snapshot"("organization_id", "id");
CREATE UNIQUE INDEX "secret_snapshot_app_id_environment_id_digest_key" ON "secret_snapshot"("app_id", "environment_id", "digest");
CREATE INDEX "secret_snapshot_entry_version_id_idx" ON "secret_snapshot_entry"("version_id");
CREATE INDEX "release_secret_snapshot_id_idx" ON "release"("secret_snapshot_id");

-- One key of an organization encrypts; two first secrets at once must not make two.
CREATE UNIQUE INDEX data_key_active ON data_key (organization_id) WHERE retired_at IS NULL;
CREATE UNIQUE INDEX secret_group_name ON secret_group (project_id, name) WHERE deleted_at IS NULL;
-- What the reminder looks at.
CREATE INDEX secret_expiring ON secret (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
ALTER TABLE secret ADD CONSTRAINT secret_owner_one
  CHECK ((group_id IS NULL) = (app_id IS NOT NULL) AND (app_id IS NULL) = (environment_id IS NULL));
ALTER TABLE secret_version ADD CONSTRAINT secret_version_delivery_known CHECK (delivery IN ('environment', 'file'));
-- A release that runs an older one's artifact with the newest secrets.
ALTER TABLE deployment DROP CONSTRAINT deployment_trigger_known;
ALTER TABLE deployment
  ADD CONSTRAINT deployment_trigger_known CHECK (trigger IN ('manual', 'redeploy', 'rollback', 'push', 'secret'));

-- The order matters when an organization ends: cascades run in the order of their constraints, and versions must be gone
-- before the keys they name.
ALTER TABLE "secret_version" ADD CONSTRAINT "secret_version_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "data_key" ADD CONSTRAINT "data_key_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_group" ADD CONSTRAINT "secret_group_organization_id_project_id_fkey" FOREIGN KEY ("organization_id", "project_id") REFERENCES "project"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_group_app" ADD CONSTRAINT "secret_group_app_organization_id_group_id_fkey" FOREIGN KEY ("organization_id", "group_id") REFERENCES "secret_group"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_group_app" ADD CONSTRAINT "secret_group_app_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret" ADD CONSTRAINT "secret_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret" ADD CONSTRAINT "secret_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret" ADD CONSTRAINT "secret_organization_id_group_id_fkey" FOREIGN KEY ("organization_id", "group_id") REFERENCES "secret_group"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_version" ADD CONSTRAINT "secret_version_organization_id_secret_id_fkey" FOREIGN KEY ("organization_id", "secret_id") REFERENCES "secret"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_version" ADD CONSTRAINT "secret_version_organization_id_data_key_id_fkey" FOREIGN KEY ("organization_id", "data_key_id") REFERENCES "data_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "secret_snapshot" ADD CONSTRAINT "secret_snapshot_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_snapshot" ADD CONSTRAINT "secret_snapshot_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_snapshot_entry" ADD CONSTRAINT "secret_snapshot_entry_organization_id_snapshot_id_fkey" FOREIGN KEY ("organization_id", "snapshot_id") REFERENCES "secret_snapshot"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "secret_snapshot_entry" ADD CONSTRAINT "secret_snapshot_entry_organization_id_version_id_fkey" FOREIGN KEY ("organization_id", "version_id") REFERENCES "secret_version"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "release" ADD CONSTRAINT "release_organization_id_secret_snapshot_id_fkey" FOREIGN KEY ("organization_id", "secret_snapshot_id") REFERENCES "secret_snapshot"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY[
  'data_key', 'secret_group', 'secret_group_app', 'secret', 'secret_version', 'secret_snapshot', 'secret_snapshot_entry'
]) AS name;
