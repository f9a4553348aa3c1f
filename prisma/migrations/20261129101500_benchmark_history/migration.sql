-- Tags and a note, by which people find benchmark runs again.
ALTER TABLE "benchmark_run" ADD COLUMN "tags" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
ADD COLUMN "note" TEXT NOT NULL DEFAULT '';
