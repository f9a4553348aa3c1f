-- Plans of a repository are saved once for each environment, so a name is unique within an app and its environment.
ALTER TABLE "benchmark_plan" ADD COLUMN "is_from_repository" BOOLEAN NOT NULL DEFAULT false;
DROP INDEX "benchmark_plan_app_id_name_key";
CREATE UNIQUE INDEX "benchmark_plan_app_id_environment_id_name_key" ON "benchmark_plan"("app_id", "environment_id", "name");
