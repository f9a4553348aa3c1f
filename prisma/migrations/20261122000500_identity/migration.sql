-- Who someone is, proven by more than a password. Like all of identity, reached by the login role only.
ALTER TABLE "user" ADD COLUMN "two_factor_enabled" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "session" ADD COLUMN "confirmed_at" TIMESTAMPTZ(3), ADD COLUMN "last_used_at" TIMESTAMPTZ(3);

-- Counters of a quarter of an hour: they start anew.
DELETE FROM "sign_in_attempt";
ALTER TABLE "sign_in_attempt" RENAME COLUMN "window_started_at" TO "counted_at";
ALTER TABLE "sign_in_attempt" ADD COLUMN "open_at" TIMESTAMPTZ(3) NOT NULL;

-- One book counts now, which tells known devices from strangers.
DROP TABLE "rate_limit";

CREATE TABLE "passkey" (
    "id" TEXT NOT NULL,
    "name" TEXT,
    "public_key" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "credential_id" TEXT NOT NULL,
    "counter" INTEGER NOT NULL,
    "device_type" TEXT NOT NULL,
    "backed_up" BOOLEAN NOT NULL,
    "transports" TEXT,
    "created_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
    "aaguid" TEXT,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkey_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "two_factor" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "backup_codes" TEXT NOT NULL,
    "verified" BOOLEAN NOT NULL DEFAULT true,
    "failed_verification_count" INTEGER NOT NULL DEFAULT 0,
    "locked_until" TIMESTAMPTZ(3),

    CONSTRAINT "two_factor_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "known_device" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "known_device_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "account_link" (
    "token_hash" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_link_pkey" PRIMARY KEY ("token_hash"),
    CONSTRAINT "account_link_purpose_known" CHECK ("purpose" IN ('verify_email', 'change_email', 'reset_password'))
);

CREATE TABLE "account_event" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "ip" TEXT,
    "user_agent" TEXT,
    "detail" TEXT,

    CONSTRAINT "account_event_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "passkey_user_id_idx" ON "passkey"("user_id");
CREATE UNIQUE INDEX "passkey_credential_id_key" ON "passkey"("credential_id");
CREATE UNIQUE INDEX "two_factor_user_id_key" ON "two_factor"("user_id");
CREATE UNIQUE INDEX "known_device_user_id_token_hash_key" ON "known_device"("user_id", "token_hash");
CREATE INDEX "account_link_user_id_idx" ON "account_link"("user_id");
CREATE INDEX "account_event_user_id_at_id_idx" ON "account_event"("user_id", "at" DESC, "id" DESC);

ALTER TABLE "passkey" ADD CONSTRAINT "passkey_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "two_factor" ADD CONSTRAINT "two_factor_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "known_device" ADD CONSTRAINT "known_device_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "account_link" ADD CONSTRAINT "account_link_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "account_event" ADD CONSTRAINT "account_event_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Organizations may require a second factor, so they see whether a member has one. They see no more of it.
GRANT SELECT (two_factor_enabled) ON "user" TO fairlead_tenant;
