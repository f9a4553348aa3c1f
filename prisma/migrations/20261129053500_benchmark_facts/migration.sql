-- What a benchmark run measured: release, settings version, agent and machine. Null: a run from before this column.
ALTER TABLE "benchmark_run" ADD COLUMN "facts" JSONB;
