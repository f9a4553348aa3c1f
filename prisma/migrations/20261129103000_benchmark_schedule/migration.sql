-- Schedules of saved benchmark plans, and who started a run: a person or a schedule.
ALTER TABLE "benchmark_run" ADD COLUMN "trigger" TEXT NOT NULL DEFAULT 'manual',
  ADD CONSTRAINT "benchmark_run_trigger_known" CHECK ("trigger" IN ('manual', 'schedule'));

CREATE TABLE "benchmark_schedule" (
    "plan_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "weekday" INTEGER,
    "hour" INTEGER NOT NULL,
    "time_zone" TEXT NOT NULL,
    "paused_at" TIMESTAMPTZ(3),
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3),
    "last_run_id" TEXT,
    "last_skip" TEXT,

    CONSTRAINT "benchmark_schedule_pkey" PRIMARY KEY ("plan_id")
);

CREATE UNIQUE INDEX "benchmark_schedule_organization_id_plan_id_key" ON "benchmark_schedule"("organization_id", "plan_id");
CREATE INDEX "benchmark_schedule_next_at_idx" ON "benchmark_schedule"("next_at");

ALTER TABLE "benchmark_schedule" ADD CONSTRAINT "benchmark_schedule_organization_id_plan_id_fkey" FOREIGN KEY ("organization_id", "plan_id") REFERENCES "benchmark_plan"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('benchmark_schedule');
