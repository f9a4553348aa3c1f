-- Earliest time to ask the authority again for the time of renewal (RFC 9773); null: at once.
ALTER TABLE "certificate" ADD COLUMN "renewal_info_at" TIMESTAMPTZ(3);
