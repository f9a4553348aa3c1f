-- What an agent says of its own program, and the last request for another one.
ALTER TABLE "server" ADD COLUMN "agent_digest" TEXT;
ALTER TABLE "server" ADD COLUMN "upgrade" JSONB;

-- Programs of agents lie in the store of the organization whose servers fetch them.
ALTER TABLE artifact DROP CONSTRAINT artifact_kind_known;
ALTER TABLE artifact ADD CONSTRAINT artifact_kind_known CHECK (kind IN ('build', 'upload', 'agent'));
