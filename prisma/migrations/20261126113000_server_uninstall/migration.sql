-- Request that the agent removes itself from its server, and how far it is.
ALTER TABLE "server" ADD COLUMN "uninstall" JSONB;
