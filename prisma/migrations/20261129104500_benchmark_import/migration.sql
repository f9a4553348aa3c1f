-- Runs that were measured elsewhere. They have no server here, and keep what identifies their origin and their content.
ALTER TABLE "benchmark_run" ALTER COLUMN "server_id" DROP NOT NULL,
  ADD COLUMN "origin" JSONB,
  ADD COLUMN "import_hash" TEXT,
  ADD CONSTRAINT "benchmark_run_origin_known" CHECK (
    ("server_id" IS NULL) = ("origin" IS NOT NULL) AND ("import_hash" IS NULL) = ("origin" IS NULL));

CREATE UNIQUE INDEX "benchmark_run_app_id_import_hash_key" ON "benchmark_run"("app_id", "import_hash");
