-- Saved benchmark plans, and the name of the plan that a run was started from.
ALTER TABLE "benchmark_run" ADD COLUMN "plan_name" TEXT;

CREATE TABLE "benchmark_plan" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "environment_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "plan" JSONB NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_by_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "benchmark_plan_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "benchmark_plan_organization_id_id_key" ON "benchmark_plan"("organization_id", "id");
CREATE UNIQUE INDEX "benchmark_plan_app_id_name_key" ON "benchmark_plan"("app_id", "name");
CREATE INDEX "benchmark_plan_environment_id_idx" ON "benchmark_plan"("environment_id");

ALTER TABLE "benchmark_plan" ADD CONSTRAINT "benchmark_plan_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "benchmark_plan" ADD CONSTRAINT "benchmark_plan_organization_id_app_id_fkey" FOREIGN KEY ("organization_id", "app_id") REFERENCES "app"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "benchmark_plan" ADD CONSTRAINT "benchmark_plan_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('benchmark_plan');
SELECT guard.hide_deleted_apps('benchmark_plan', 'app_id');
