-- Scenarios of the benchmark lab: programs and events of a run, phase and causes of a row.
ALTER TABLE "benchmark_run" ADD COLUMN "programs" JSONB NOT NULL DEFAULT '[]',
ADD COLUMN "events_due" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN "events" JSONB NOT NULL DEFAULT '[]';

ALTER TABLE "benchmark_row" ADD COLUMN "phase" TEXT,
ADD COLUMN "failures" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN "generator_cpu_us" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN "generator_saturated" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN "app_cpu_us" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN "clients" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN "latency_max_us" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN "unsent" BIGINT NOT NULL DEFAULT 0;
