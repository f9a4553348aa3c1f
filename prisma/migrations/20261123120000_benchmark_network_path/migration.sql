-- How connections reached the app. Rows from before have none: nobody wrote it down.
ALTER TABLE "benchmark_row" ADD COLUMN "network_path" TEXT;
