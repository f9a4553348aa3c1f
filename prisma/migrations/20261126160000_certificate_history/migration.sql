-- Uploaded certificates, the history of certificates, and the last reminder of each.
CREATE TABLE "uploaded_certificate" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "names" TEXT[],
    "chain" BYTEA[],
    "key_id" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "not_before" TIMESTAMPTZ(3) NOT NULL,
    "not_after" TIMESTAMPTZ(3) NOT NULL,
    "reminded_days" INTEGER,
    "ended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "uploaded_certificate_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "certificate_event" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "certificate_id" TEXT,
    "uploaded_certificate_id" TEXT,
    "kind" TEXT NOT NULL,
    "detail" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "certificate_event_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "certificate" ADD COLUMN "reminded_days" INTEGER;

CREATE INDEX "uploaded_certificate_key_id_idx" ON "uploaded_certificate"("key_id");
CREATE UNIQUE INDEX "uploaded_certificate_organization_id_id_key" ON "uploaded_certificate"("organization_id", "id");
CREATE INDEX "certificate_event_certificate_id_created_at_idx" ON "certificate_event"("certificate_id", "created_at");
CREATE INDEX "certificate_event_uploaded_certificate_id_created_at_idx" ON "certificate_event"("uploaded_certificate_id", "created_at");

ALTER TABLE "uploaded_certificate" ADD CONSTRAINT "uploaded_certificate_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "uploaded_certificate" ADD CONSTRAINT "uploaded_certificate_organization_id_key_id_fkey" FOREIGN KEY ("organization_id", "key_id") REFERENCES "certificate_key"("organization_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;
ALTER TABLE "certificate_event" ADD CONSTRAINT "certificate_event_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "certificate_event" ADD CONSTRAINT "certificate_event_organization_id_certificate_id_fkey" FOREIGN KEY ("organization_id", "certificate_id") REFERENCES "certificate"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "certificate_event" ADD CONSTRAINT "certificate_event_organization_id_uploaded_certificate_id_fkey" FOREIGN KEY ("organization_id", "uploaded_certificate_id") REFERENCES "uploaded_certificate"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE certificate_event ADD CONSTRAINT certificate_event_of_one
  CHECK (num_nonnulls(certificate_id, uploaded_certificate_id) = 1);
ALTER TABLE uploaded_certificate ADD CONSTRAINT uploaded_certificate_whole
  CHECK (cardinality(names) > 0 AND cardinality(chain) > 0);

SELECT guard.protect_tenant_table(name::regclass)
FROM unnest(ARRAY['uploaded_certificate', 'certificate_event']) AS name;
