-- The only digest that the build of a deployment may write to the artifact store.
ALTER TABLE "deployment" ADD COLUMN "built_digest" TEXT;
