-- Public addresses of servers, DNS checks of hosts, and proofs of their ownership.
ALTER TABLE "server"
  ADD COLUMN "interface_addresses" TEXT[],
  ADD COLUMN "connection_address" TEXT,
  ADD COLUMN "entered_addresses" TEXT[];

CREATE TABLE "domain_host" (
    "organization_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "state_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "findings" JSONB,
    "conflict" TEXT,
    "checked_at" TIMESTAMPTZ(3),
    "next_check_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "domain_host_pkey" PRIMARY KEY ("organization_id", "host")
);
CREATE INDEX "domain_host_next_check_at_idx" ON "domain_host"("next_check_at");
CREATE INDEX "domain_host_host_idx" ON "domain_host"("host");
ALTER TABLE "domain_host" ADD CONSTRAINT "domain_host_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "host_proof" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "proven_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "host_proof_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "host_proof_organization_id_host_key" ON "host_proof"("organization_id", "host");
ALTER TABLE "host_proof" ADD CONSTRAINT "host_proof_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
-- A name has one owner, whichever organization's proof is seen first.
CREATE UNIQUE INDEX "host_proof_of_one_organization" ON "host_proof"("host") WHERE "proven_at" IS NOT NULL;

SELECT guard.protect_tenant_table(name::regclass) FROM unnest(ARRAY['domain_host', 'host_proof']) AS name;

SET ROLE fairlead_system;
INSERT INTO domain_host (organization_id, host, created_at)
  SELECT organization_id, host, min(created_at) FROM domain GROUP BY organization_id, host;
RESET ROLE;
