-- Values of the FAIRLEAD_ variables as they were when the deployment began and the release was made: a change of a domain or a
-- name reaches an app with its next deployment.
ALTER TABLE "deployment" ADD COLUMN "origin" JSONB NOT NULL DEFAULT '{}';
ALTER TABLE "release" ADD COLUMN "origin" JSONB NOT NULL DEFAULT '{}';
