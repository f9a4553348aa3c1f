-- Expand: preview environments of pull requests, with their decisions and comments.
ALTER TABLE "environment" ADD COLUMN "kind" TEXT NOT NULL DEFAULT 'standard';
ALTER TABLE "environment" ADD CONSTRAINT environment_kind_known CHECK (kind IN ('standard', 'preview'));

-- Two apps of a project may have previews of pull requests with the same number.
DROP INDEX "environment_project_id_slug_key";
CREATE UNIQUE INDEX environment_slug_alone ON environment (project_id, slug) WHERE kind = 'standard';
CREATE INDEX "environment_project_id_slug_idx" ON "environment"("project_id", "slug");

ALTER TABLE deployment DROP CONSTRAINT deployment_trigger_known;
ALTER TABLE deployment ADD CONSTRAINT deployment_trigger_known CHECK (trigger IN
  ('manual', 'api', 'system', 'redeploy', 'rollback', 'push', 'pull_request', 'secret', 'restart', 'retry', 'promote', 'upload'));

CREATE TABLE "preview_policy" (
    "app_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "environment_id" TEXT NOT NULL,
    "previews_max" INTEGER NOT NULL,
    "days_max" INTEGER NOT NULL,
    "drafts" BOOLEAN NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "preview_policy_pkey" PRIMARY KEY ("app_id")
);

CREATE TABLE "preview" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "repository_id" BIGINT NOT NULL,
    "number" INTEGER NOT NULL,
    "title" TEXT NOT NULL,
    "author" TEXT NOT NULL,
    "head_ref" TEXT NOT NULL,
    "head_hash" TEXT NOT NULL,
    "former_hash" TEXT NOT NULL DEFAULT '',
    "is_fork" BOOLEAN NOT NULL,
    "is_draft" BOOLEAN NOT NULL,
    "is_open" BOOLEAN NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,
    "pushed_at" TIMESTAMPTZ(3) NOT NULL,
    "approved_hash" TEXT,
    "approved_by_user_id" TEXT,
    "removed_hash" TEXT,
    "deployed_hash" TEXT,
    "state" TEXT NOT NULL,
    "problem" TEXT NOT NULL DEFAULT '',
    "environment_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "preview_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "github_comment" (
    "preview_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "comment_id" BIGINT,
    "ended_ids" BIGINT[] NOT NULL DEFAULT '{}',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "problem" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "github_comment_pkey" PRIMARY KEY ("preview_id")
);

CREATE TABLE "preview_decision" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "delivery_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "outcome" TEXT NOT NULL,
    "detail" TEXT NOT NULL,
    "deployment_id" TEXT,
    "decided_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "preview_decision_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "preview_policy_organization_id_app_id_key" ON "preview_policy"("organization_id", "app_id");
CREATE UNIQUE INDEX "preview_policy_app_id_environment_id_organization_id_key" ON "preview_policy"("app_id", "environment_id", "organization_id");
CREATE UNIQUE INDEX "preview_environment_id_key" ON "preview"("environment_id");
CREATE UNIQUE INDEX "preview_app_id_repository_id_number_key" ON "preview"("app_id", "repository_id", "number");
CREATE UNIQUE INDEX "preview_organization_id_id_key" ON "preview"("organization_id", "id");
CREATE UNIQUE INDEX "preview_organization_id_environment_id_key" ON "preview"("organization_id", "environment_id");
CREATE INDEX "preview_organization_id_app_id_idx" ON "preview"("organization_id", "app_id");
CREATE UNIQUE INDEX "github_comment_organization_id_preview_id_key" ON "github_comment"("organization_id", "preview_id");
CREATE INDEX "github_comment_next_attempt_at_idx" ON "github_comment"("next_attempt_at");
CREATE UNIQUE INDEX "preview_decision_delivery_id_app_id_key" ON "preview_decision"("delivery_id", "app_id");
CREATE UNIQUE INDEX "preview_decision_organization_id_id_key" ON "preview_decision"("organization_id", "id");
CREATE INDEX "preview_decision_organization_id_app_id_idx" ON "preview_decision"("organization_id", "app_id");

ALTER TABLE "preview_policy" ADD CONSTRAINT "preview_policy_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "preview_policy" ADD CONSTRAINT "preview_policy_app_id_environment_id_organization_id_fkey" FOREIGN KEY ("app_id", "environment_id", "organization_id") REFERENCES "placement"("app_id", "environment_id", "organization_id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "preview" ADD CONSTRAINT "preview_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "preview" ADD CONSTRAINT "preview_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "github_comment" ADD CONSTRAINT "github_comment_organization_id_preview_id_fkey" FOREIGN KEY ("organization_id", "preview_id") REFERENCES "preview"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "preview_decision" ADD CONSTRAINT "preview_decision_organization_id_delivery_id_fkey" FOREIGN KEY ("organization_id", "delivery_id") REFERENCES "webhook_delivery"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "preview_decision" ADD CONSTRAINT "preview_decision_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE preview
  ADD CONSTRAINT preview_state_known CHECK (
    state IN ('active', 'waiting', 'limited', 'draft', 'expired', 'removed', 'unnamed', 'failed', 'off', 'closed')),
  -- What strangers wrote never gets an environment of its own without an approval.
  ADD CONSTRAINT preview_fork_approved CHECK (NOT is_fork OR environment_id IS NULL OR approved_hash IS NOT NULL),
  ADD CONSTRAINT preview_deploys_approved CHECK (NOT is_fork OR deployed_hash IS NULL OR state <> 'active' OR deployed_hash = approved_hash);

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY['preview_policy', 'preview', 'github_comment', 'preview_decision']) AS name;
SELECT guard.hide_deleted_apps(name::regclass, 'app_id')
FROM unnest(ARRAY['preview_policy', 'preview', 'preview_decision']) AS name;
