-- Certificates of public hosts, their keys, and the accounts that order them.
CREATE TABLE "certificate_key" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "data_key_id" TEXT NOT NULL,
    "envelope" BYTEA NOT NULL,
    "public_key" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "certificate_key_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "acme_account" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "directory_url" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "thumbprint" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "acme_account_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "certificate" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "chain" BYTEA[],
    "key_id" TEXT,
    "issuer" TEXT,
    "not_before" TIMESTAMPTZ(3),
    "not_after" TIMESTAMPTZ(3),
    "renew_at" TIMESTAMPTZ(3),
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "order_server_id" TEXT,
    "order_key_id" TEXT,
    "ordered_at" TIMESTAMPTZ(3),
    "unready_servers" JSONB NOT NULL DEFAULT '{}',
    "step" TEXT,
    "failure_code" TEXT,
    "failure_message" TEXT,
    "failed_at" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "certificate_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "certificate_key_data_key_id_idx" ON "certificate_key"("data_key_id");
CREATE UNIQUE INDEX "certificate_key_organization_id_id_key" ON "certificate_key"("organization_id", "id");
CREATE INDEX "acme_account_key_id_idx" ON "acme_account"("key_id");
CREATE UNIQUE INDEX "acme_account_organization_id_directory_url_key" ON "acme_account"("organization_id", "directory_url");
CREATE UNIQUE INDEX "acme_account_organization_id_id_key" ON "acme_account"("organization_id", "id");
CREATE INDEX "certificate_account_id_idx" ON "certificate"("account_id");
CREATE INDEX "certificate_key_id_idx" ON "certificate"("key_id");
CREATE INDEX "certificate_order_key_id_idx" ON "certificate"("order_key_id");
CREATE INDEX "certificate_order_server_id_idx" ON "certificate"("order_server_id");
CREATE UNIQUE INDEX "certificate_organization_id_host_key" ON "certificate"("organization_id", "host");
CREATE UNIQUE INDEX "certificate_organization_id_id_key" ON "certificate"("organization_id", "id");

ALTER TABLE "certificate_key" ADD CONSTRAINT "certificate_key_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "certificate_key" ADD CONSTRAINT "certificate_key_organization_id_data_key_id_fkey" FOREIGN KEY ("organization_id", "data_key_id") REFERENCES "data_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "acme_account" ADD CONSTRAINT "acme_account_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "acme_account" ADD CONSTRAINT "acme_account_organization_id_key_id_fkey" FOREIGN KEY ("organization_id", "key_id") REFERENCES "certificate_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "certificate" ADD CONSTRAINT "certificate_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "certificate" ADD CONSTRAINT "certificate_organization_id_account_id_fkey" FOREIGN KEY ("organization_id", "account_id") REFERENCES "acme_account"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "certificate" ADD CONSTRAINT "certificate_organization_id_key_id_fkey" FOREIGN KEY ("organization_id", "key_id") REFERENCES "certificate_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "certificate" ADD CONSTRAINT "certificate_organization_id_order_key_id_fkey" FOREIGN KEY ("organization_id", "order_key_id") REFERENCES "certificate_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- An order has a key, a server and a time, or none of them; so has an issued chain.
ALTER TABLE certificate ADD CONSTRAINT certificate_order_whole
  CHECK ((order_server_id IS NULL) = (order_key_id IS NULL) AND (order_server_id IS NULL) = (ordered_at IS NULL));
ALTER TABLE certificate ADD CONSTRAINT certificate_issued_whole
  CHECK ((key_id IS NULL) = (coalesce(cardinality(chain), 0) = 0) AND (key_id IS NULL) = (not_after IS NULL));

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY['certificate_key', 'acme_account', 'certificate']) AS name;
