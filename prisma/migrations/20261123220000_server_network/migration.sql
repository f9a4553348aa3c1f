-- What the agent last found at the firewall of apps.
ALTER TABLE "server" ADD COLUMN "network" JSONB;
