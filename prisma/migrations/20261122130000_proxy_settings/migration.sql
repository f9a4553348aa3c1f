-- What holds for the whole proxy of a server; an empty object: nothing but what an agent does by itself.
ALTER TABLE "server" ADD COLUMN "proxy" JSONB NOT NULL DEFAULT '{}';
