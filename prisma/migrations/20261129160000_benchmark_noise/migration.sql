-- Noise of the machine beside each row of a benchmark; null: not sampled.
ALTER TABLE "benchmark_row" ADD COLUMN "noise" JSONB;
