-- Emulated link between clients and proxies, and connections to the lab's app.
ALTER TABLE "benchmark_row" ADD COLUMN "link" JSONB,
ADD COLUMN "app_connections" INTEGER NOT NULL DEFAULT 0;
