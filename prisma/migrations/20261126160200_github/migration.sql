-- GitHub Apps of organizations, their installations, and the repositories that apps are built from.
CREATE TABLE "github_app" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "base_url" TEXT NOT NULL,
    "github_id" BIGINT NOT NULL,
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "data_key_id" TEXT NOT NULL,
    "private_key" BYTEA NOT NULL,
    "webhook_secret" BYTEA NOT NULL,
    "client_secret" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "github_app_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "github_installation" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "github_app_id" TEXT NOT NULL,
    "installation_id" BIGINT NOT NULL,
    "account_id" BIGINT NOT NULL,
    "account_login" TEXT NOT NULL,
    "account_type" TEXT NOT NULL,
    "repository_selection" TEXT NOT NULL,
    "synced_at" TIMESTAMPTZ(3),
    "suspended_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "github_installation_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "app_repository" (
    "app_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "installation_id" TEXT NOT NULL,
    "repository_id" BIGINT NOT NULL,
    "full_name" TEXT NOT NULL,
    "default_branch" TEXT NOT NULL,
    "is_private" BOOLEAN NOT NULL,
    "lost_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "app_repository_pkey" PRIMARY KEY ("app_id")
);

CREATE TABLE "github_repository" (
    "installation_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "repository_id" BIGINT NOT NULL,
    "full_name" TEXT NOT NULL,
    "default_branch" TEXT NOT NULL,
    "is_private" BOOLEAN NOT NULL,
    "is_archived" BOOLEAN NOT NULL,
    "pushed_at" TIMESTAMPTZ(3),

    CONSTRAINT "github_repository_pkey" PRIMARY KEY ("installation_id","repository_id")
);

CREATE TABLE "github_state" (
    "state_hash" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "base_url" TEXT NOT NULL,
    "github_app_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "github_state_pkey" PRIMARY KEY ("state_hash")
);

CREATE INDEX "github_app_data_key_id_idx" ON "github_app"("data_key_id");
CREATE UNIQUE INDEX "github_app_base_url_github_id_key" ON "github_app"("base_url", "github_id");
CREATE UNIQUE INDEX "github_app_organization_id_id_key" ON "github_app"("organization_id", "id");
CREATE UNIQUE INDEX "github_installation_github_app_id_installation_id_key" ON "github_installation"("github_app_id", "installation_id");
CREATE UNIQUE INDEX "github_installation_organization_id_id_key" ON "github_installation"("organization_id", "id");
CREATE INDEX "app_repository_installation_id_repository_id_idx" ON "app_repository"("installation_id", "repository_id");
CREATE UNIQUE INDEX "app_repository_organization_id_app_id_key" ON "app_repository"("organization_id", "app_id");
CREATE INDEX "github_repository_organization_id_pushed_at_idx" ON "github_repository"("organization_id", "pushed_at" DESC);
CREATE INDEX "github_state_organization_id_idx" ON "github_state"("organization_id");
CREATE INDEX "github_state_expires_at_idx" ON "github_state"("expires_at");

ALTER TABLE "github_app" ADD CONSTRAINT "github_app_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "github_app" ADD CONSTRAINT "github_app_organization_id_data_key_id_fkey" FOREIGN KEY ("organization_id", "data_key_id") REFERENCES "data_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "github_installation" ADD CONSTRAINT "github_installation_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "github_installation" ADD CONSTRAINT "github_installation_organization_id_github_app_id_fkey" FOREIGN KEY ("organization_id", "github_app_id") REFERENCES "github_app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "app_repository" ADD CONSTRAINT "app_repository_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "app_repository" ADD CONSTRAINT "app_repository_organization_id_installation_id_fkey" FOREIGN KEY ("organization_id", "installation_id") REFERENCES "github_installation"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "github_repository" ADD CONSTRAINT "github_repository_organization_id_installation_id_fkey" FOREIGN KEY ("organization_id", "installation_id") REFERENCES "github_installation"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "github_state" ADD CONSTRAINT "github_state_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE github_state ADD CONSTRAINT github_state_purpose_known
  CHECK (purpose IN ('register', 'install'));

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY['github_app', 'github_installation', 'github_repository', 'app_repository', 'github_state']) AS name;
SELECT guard.hide_deleted_apps('app_repository', 'app_id');
