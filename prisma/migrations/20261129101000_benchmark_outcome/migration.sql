-- Outcome of the thresholds of a run's plan: passed, failed or none.
ALTER TABLE "benchmark_run" ADD COLUMN "outcome" TEXT NOT NULL DEFAULT 'none';
