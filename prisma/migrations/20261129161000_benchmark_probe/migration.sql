-- Probe of a row in the scenario latency; null: plain requests.
ALTER TABLE "benchmark_row" ADD COLUMN "probe" TEXT;
