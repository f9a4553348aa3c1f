-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "app" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "repository_url" TEXT NOT NULL,
    "root_folder" TEXT NOT NULL DEFAULT '',
    "command" TEXT[],
    "health_path" TEXT NOT NULL DEFAULT '',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "app_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "placement" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "branch" TEXT NOT NULL,
    "instances" INTEGER NOT NULL DEFAULT 1,
    "live_release_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "placement_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instance" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "release_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "pid" INTEGER,
    "port" INTEGER,
    "restarts" INTEGER NOT NULL DEFAULT 0,
    "detail" TEXT NOT NULL DEFAULT '',
    "started_at" TIMESTAMPTZ(3),
    "reported_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "instance_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "benchmark_run" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "plan" JSONB NOT NULL,
    "rows_done" INTEGER NOT NULL DEFAULT 0,
    "rows_total" INTEGER NOT NULL DEFAULT 0,
    "failure_code" TEXT,
    "failure_message" TEXT,
    "actor_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "benchmark_run_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "benchmark_row" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "round" INTEGER NOT NULL,
    "target" TEXT NOT NULL,
    "protocol" TEXT NOT NULL,
    "concurrency" INTEGER NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "requests" BIGINT NOT NULL,
    "errors" BIGINT NOT NULL,
    "latency" BYTEA NOT NULL,
    "proxy_cpu_us" BIGINT NOT NULL,
    "proxy_memory_bytes" BIGINT NOT NULL,
    "bytes_received" BIGINT NOT NULL,

    CONSTRAINT "benchmark_row_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "signing_key" (
    "id" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "retired_at" TIMESTAMPTZ(3),

    CONSTRAINT "signing_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployment" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "trigger" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "ref" TEXT NOT NULL,
    "commit_hash" TEXT,
    "commit_subject" TEXT,
    "commit_author" TEXT,
    "release_id" TEXT,
    "actor_user_id" TEXT,
    "failure_code" TEXT,
    "failure_message" TEXT,
    "cancel_requested_at" TIMESTAMPTZ(3),
    "lease_owner" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "heartbeat_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3),
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "deployment_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployment_step" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "deployment_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "state" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "deployment_step_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "domain" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "domain_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "user" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_verified" BOOLEAN NOT NULL DEFAULT false,
    "image" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "user_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "session" (
    "id" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "account" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "access_token" TEXT,
    "refresh_token" TEXT,
    "id_token" TEXT,
    "access_token_expires_at" TIMESTAMPTZ(3),
    "refresh_token_expires_at" TIMESTAMPTZ(3),
    "scope" TEXT,
    "password" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "verification" (
    "id" TEXT NOT NULL,
    "identifier" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "verification_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_limit" (
    "id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "last_request" BIGINT NOT NULL,

    CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "log_chunk" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "deployment_id" TEXT NOT NULL,
    "first_line" INTEGER NOT NULL,
    "line_count" INTEGER NOT NULL,
    "object_key" TEXT NOT NULL,
    "size_bytes" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "log_chunk_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "member" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "member_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "organization" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "organization_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "setup_token" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "setup_token_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "environment" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "environment_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "release" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "commit_hash" TEXT NOT NULL,
    "commit_subject" TEXT NOT NULL,
    "commit_author" TEXT NOT NULL,
    "committed_at" TIMESTAMPTZ(3) NOT NULL,
    "artifact_digest" TEXT NOT NULL,
    "artifact_size_bytes" BIGINT NOT NULL,
    "built_on_server_id" TEXT NOT NULL,
    "runtime" TEXT NOT NULL,
    "command" TEXT[],
    "health_path" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "release_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "server" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "is_local" BOOLEAN NOT NULL DEFAULT false,
    "desired_epoch" INTEGER NOT NULL DEFAULT 1,
    "desired_number" BIGINT NOT NULL DEFAULT 1,
    "applied_epoch" INTEGER NOT NULL DEFAULT 0,
    "applied_number" BIGINT NOT NULL DEFAULT 0,
    "refused_reason" TEXT,
    "agent_version" TEXT NOT NULL DEFAULT '',
    "capabilities" TEXT[],
    "host_info" JSONB NOT NULL DEFAULT '{}',
    "connected_gateway" TEXT,
    "connected_at" TIMESTAMPTZ(3),
    "last_seen_at" TIMESTAMPTZ(3),
    "clock_offset_ms" INTEGER NOT NULL DEFAULT 0,
    "push_acked_sequence" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "server_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "server_enrolment" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "is_local" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    "server_id" TEXT,

    CONSTRAINT "server_enrolment_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "app_organization_id_name_id_idx" ON "app"("organization_id", "name", "id");

-- CreateIndex
CREATE INDEX "app_project_id_idx" ON "app"("project_id");

-- CreateIndex
CREATE UNIQUE INDEX "app_organization_id_slug_key" ON "app"("organization_id", "slug");

-- CreateIndex
CREATE UNIQUE INDEX "app_organization_id_id_key" ON "app"("organization_id", "id");

-- CreateIndex
CREATE INDEX "placement_organization_id_app_id_idx" ON "placement"("organization_id", "app_id");

-- CreateIndex
CREATE INDEX "placement_environment_id_idx" ON "placement"("environment_id");

-- CreateIndex
CREATE INDEX "placement_server_id_idx" ON "placement"("server_id");

-- CreateIndex
CREATE INDEX "placement_live_release_id_idx" ON "placement"("live_release_id");

-- CreateIndex
CREATE UNIQUE INDEX "placement_app_id_environment_id_key" ON "placement"("app_id", "environment_id");

-- CreateIndex
CREATE INDEX "instance_organization_id_app_id_idx" ON "instance"("organization_id", "app_id");

-- CreateIndex
CREATE INDEX "instance_app_id_environment_id_idx" ON "instance"("app_id", "environment_id");

-- CreateIndex
CREATE INDEX "instance_environment_id_idx" ON "instance"("environment_id");

-- CreateIndex
CREATE INDEX "instance_server_id_idx" ON "instance"("server_id");

-- CreateIndex
CREATE INDEX "instance_release_id_idx" ON "instance"("release_id");

-- CreateIndex
CREATE INDEX "benchmark_run_organization_id_created_at_id_idx" ON "benchmark_run"("organization_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "benchmark_run_app_id_created_at_id_idx" ON "benchmark_run"("app_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "benchmark_run_server_id_idx" ON "benchmark_run"("server_id");

-- CreateIndex
CREATE INDEX "benchmark_run_environment_id_idx" ON "benchmark_run"("environment_id");

-- CreateIndex
CREATE UNIQUE INDEX "benchmark_run_organization_id_id_key" ON "benchmark_run"("organization_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "benchmark_row_run_id_position_key" ON "benchmark_row"("run_id", "position");

-- CreateIndex
CREATE INDEX "deployment_organization_id_queued_at_id_idx" ON "deployment"("organization_id", "queued_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "deployment_organization_id_state_queued_at_id_idx" ON "deployment"("organization_id", "state", "queued_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "deployment_app_id_queued_at_id_idx" ON "deployment"("app_id", "queued_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "deployment_environment_id_idx" ON "deployment"("environment_id");

-- CreateIndex
CREATE INDEX "deployment_release_id_idx" ON "deployment"("release_id");

-- CreateIndex
CREATE UNIQUE INDEX "deployment_app_id_number_key" ON "deployment"("app_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "deployment_organization_id_id_key" ON "deployment"("organization_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "deployment_step_deployment_id_name_key" ON "deployment_step"("deployment_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "domain_host_key" ON "domain"("host");

-- CreateIndex
CREATE INDEX "domain_organization_id_host_idx" ON "domain"("organization_id", "host");

-- CreateIndex
CREATE INDEX "domain_app_id_environment_id_idx" ON "domain"("app_id", "environment_id");

-- CreateIndex
CREATE INDEX "domain_environment_id_idx" ON "domain"("environment_id");

-- CreateIndex
CREATE UNIQUE INDEX "user_email_key" ON "user"("email");

-- CreateIndex
CREATE UNIQUE INDEX "session_token_key" ON "session"("token");

-- CreateIndex
CREATE INDEX "session_user_id_idx" ON "session"("user_id");

-- CreateIndex
CREATE INDEX "account_user_id_idx" ON "account"("user_id");

-- CreateIndex
CREATE INDEX "verification_identifier_idx" ON "verification"("identifier");

-- CreateIndex
CREATE UNIQUE INDEX "rate_limit_key_key" ON "rate_limit"("key");

-- CreateIndex
CREATE UNIQUE INDEX "log_chunk_deployment_id_first_line_key" ON "log_chunk"("deployment_id", "first_line");

-- CreateIndex
CREATE INDEX "member_user_id_idx" ON "member"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "member_organization_id_user_id_key" ON "member"("organization_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "organization_slug_key" ON "organization"("slug");

-- CreateIndex
CREATE UNIQUE INDEX "setup_token_token_hash_key" ON "setup_token"("token_hash");

-- CreateIndex
CREATE INDEX "setup_token_organization_id_idx" ON "setup_token"("organization_id");

-- CreateIndex
CREATE UNIQUE INDEX "project_organization_id_slug_key" ON "project"("organization_id", "slug");

-- CreateIndex
CREATE UNIQUE INDEX "project_organization_id_id_key" ON "project"("organization_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "environment_project_id_slug_key" ON "environment"("project_id", "slug");

-- CreateIndex
CREATE UNIQUE INDEX "environment_organization_id_id_key" ON "environment"("organization_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "release_app_id_number_key" ON "release"("app_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "release_organization_id_id_key" ON "release"("organization_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "server_organization_id_name_key" ON "server"("organization_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "server_organization_id_id_key" ON "server"("organization_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "server_enrolment_token_hash_key" ON "server_enrolment"("token_hash");

-- CreateIndex
CREATE INDEX "server_enrolment_organization_id_idx" ON "server_enrolment"("organization_id");

-- AddForeignKey
ALTER TABLE "app" ADD CONSTRAINT "app_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "app" ADD CONSTRAINT "app_organization_id_project_id_fkey" FOREIGN KEY ("organization_id", "project_id") REFERENCES "project"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "placement" ADD CONSTRAINT "placement_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "placement" ADD CONSTRAINT "placement_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "placement" ADD CONSTRAINT "placement_organization_id_server_id_fkey" FOREIGN KEY ("organization_id", "server_id") REFERENCES "server"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "placement" ADD CONSTRAINT "placement_organization_id_live_release_id_fkey" FOREIGN KEY ("organization_id", "live_release_id") REFERENCES "release"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance" ADD CONSTRAINT "instance_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance" ADD CONSTRAINT "instance_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance" ADD CONSTRAINT "instance_organization_id_server_id_fkey" FOREIGN KEY ("organization_id", "server_id") REFERENCES "server"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance" ADD CONSTRAINT "instance_organization_id_release_id_fkey" FOREIGN KEY ("organization_id", "release_id") REFERENCES "release"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "benchmark_run" ADD CONSTRAINT "benchmark_run_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "benchmark_run" ADD CONSTRAINT "benchmark_run_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "benchmark_run" ADD CONSTRAINT "benchmark_run_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "benchmark_run" ADD CONSTRAINT "benchmark_run_organization_id_server_id_fkey" FOREIGN KEY ("organization_id", "server_id") REFERENCES "server"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "benchmark_row" ADD CONSTRAINT "benchmark_row_organization_id_run_id_fkey" FOREIGN KEY ("organization_id", "run_id") REFERENCES "benchmark_run"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment" ADD CONSTRAINT "deployment_organization_id_release_id_fkey" FOREIGN KEY ("organization_id", "release_id") REFERENCES "release"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment_step" ADD CONSTRAINT "deployment_step_organization_id_deployment_id_fkey" FOREIGN KEY ("organization_id", "deployment_id") REFERENCES "deployment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "domain" ADD CONSTRAINT "domain_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "domain" ADD CONSTRAINT "domain_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "session" ADD CONSTRAINT "session_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "account" ADD CONSTRAINT "account_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "log_chunk" ADD CONSTRAINT "log_chunk_organization_id_deployment_id_fkey" FOREIGN KEY ("organization_id", "deployment_id") REFERENCES "deployment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "member" ADD CONSTRAINT "member_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "member" ADD CONSTRAINT "member_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "setup_token" ADD CONSTRAINT "setup_token_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project" ADD CONSTRAINT "project_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "environment" ADD CONSTRAINT "environment_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "environment" ADD CONSTRAINT "environment_organization_id_project_id_fkey" FOREIGN KEY ("organization_id", "project_id") REFERENCES "project"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "release" ADD CONSTRAINT "release_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "server" ADD CONSTRAINT "server_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "server_enrolment" ADD CONSTRAINT "server_enrolment_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;


