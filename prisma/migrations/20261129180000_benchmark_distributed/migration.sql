-- Benchmarks of several servers: their servers, the state of the current row, and the clocks of servers.
ALTER TABLE "server" ADD COLUMN "clock_offset_us" BIGINT,
ADD COLUMN "clock_uncertainty_us" INTEGER,
ADD COLUMN "clock_measured_at" TIMESTAMPTZ(3);

ALTER TABLE "benchmark_run" ADD COLUMN "load_row" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN "load_start_at" TIMESTAMPTZ(3),
ADD COLUMN "load_step_at" TIMESTAMPTZ(3),
ADD COLUMN "load_port" INTEGER;

ALTER TABLE "benchmark_row" ADD COLUMN "parts" JSONB NOT NULL DEFAULT '[]';

CREATE TABLE "benchmark_run_server" (
    "run_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "rows_ready" INTEGER NOT NULL DEFAULT 0,
    "part" BYTEA,
    "clock_offset_us" BIGINT,
    "clock_uncertainty_us" INTEGER,

    CONSTRAINT "benchmark_run_server_pkey" PRIMARY KEY ("run_id", "server_id")
);

CREATE INDEX "benchmark_run_server_server_id_idx" ON "benchmark_run_server"("server_id");

ALTER TABLE "benchmark_run_server" ADD CONSTRAINT "benchmark_run_server_organization_id_run_id_fkey" FOREIGN KEY ("organization_id", "run_id") REFERENCES "benchmark_run"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('benchmark_run_server');
