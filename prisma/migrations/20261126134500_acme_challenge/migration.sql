-- DNS providers, the TXT records that orders of certificates need there, and the orders that count against rate limits.
CREATE TABLE "dns_provider" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "zones" TEXT[],
    "settings" JSONB NOT NULL DEFAULT '{}',
    "preferred" BOOLEAN NOT NULL DEFAULT false,
    "data_key_id" TEXT NOT NULL,
    "envelope" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dns_provider_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "dns_record" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "certificate_id" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "zone" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failure_message" TEXT,
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dns_record_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "acme_order" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "directory_url" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "registered_domain" TEXT NOT NULL,
    "renewal" BOOLEAN NOT NULL,
    "outcome" TEXT,
    "limited_until" TIMESTAMPTZ(3),
    "ordered_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "acme_order_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "dns_provider_data_key_id_idx" ON "dns_provider"("data_key_id");
CREATE UNIQUE INDEX "dns_provider_organization_id_id_key" ON "dns_provider"("organization_id", "id");
CREATE INDEX "dns_record_next_at_idx" ON "dns_record"("next_at");
CREATE INDEX "dns_record_organization_id_provider_id_idx" ON "dns_record"("organization_id", "provider_id");
CREATE UNIQUE INDEX "dns_record_certificate_id_attempt_name_value_key" ON "dns_record"("certificate_id", "attempt", "name", "value");
CREATE INDEX "acme_order_organization_id_ordered_at_idx" ON "acme_order"("organization_id", "ordered_at");

ALTER TABLE "dns_provider" ADD CONSTRAINT "dns_provider_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "dns_provider" ADD CONSTRAINT "dns_provider_organization_id_data_key_id_fkey" FOREIGN KEY ("organization_id", "data_key_id") REFERENCES "data_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "dns_record" ADD CONSTRAINT "dns_record_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "dns_record" ADD CONSTRAINT "dns_record_organization_id_provider_id_fkey" FOREIGN KEY ("organization_id", "provider_id") REFERENCES "dns_provider"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "acme_order" ADD CONSTRAINT "acme_order_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "certificate" ADD COLUMN "challenge" TEXT NOT NULL DEFAULT 'http-01',
  ADD COLUMN "proofs" JSONB NOT NULL DEFAULT '[]',
  ADD COLUMN "responders_since" TIMESTAMPTZ(3);
ALTER TABLE "acme_account" ADD COLUMN "registered_at" TIMESTAMPTZ(3),
  ADD COLUMN "replaced_at" TIMESTAMPTZ(3),
  ADD COLUMN "failure" TEXT,
  ADD COLUMN "down_since" TIMESTAMPTZ(3);

ALTER TABLE certificate ADD CONSTRAINT certificate_challenge_known CHECK (challenge IN ('http-01', 'dns-01', 'tls-alpn-01'));
-- `put`: to be set. `wait`: set, not shown by the zone yet. `ready`: shown. `remove`: its order has ended.
ALTER TABLE dns_record ADD CONSTRAINT dns_record_state_known CHECK (state IN ('put', 'wait', 'ready', 'remove'));

SELECT guard.protect_tenant_table(name::regclass) FROM unnest(ARRAY['dns_provider', 'dns_record', 'acme_order']) AS name;
