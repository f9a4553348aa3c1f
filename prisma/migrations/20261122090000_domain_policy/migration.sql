-- What the proxy does to the requests of a domain before its app; an empty object: nothing of its own.
ALTER TABLE "domain" ADD COLUMN "policy" JSONB NOT NULL DEFAULT '{}';
