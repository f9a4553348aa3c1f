-- Load servers of a saved benchmark plan. They have no foreign key: a schedule skips its slots while one is missing.
ALTER TABLE "benchmark_plan" ADD COLUMN "load_server_ids" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];
