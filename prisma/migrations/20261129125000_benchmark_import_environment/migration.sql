-- An import into another environment is another run, which other members may read.
DROP INDEX "benchmark_run_app_id_import_hash_key";
CREATE UNIQUE INDEX "benchmark_run_app_id_environment_id_import_hash_key" ON "benchmark_run"("app_id", "environment_id", "import_hash");
