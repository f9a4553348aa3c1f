-- Calls of the current minute by caller, shared by all web processes. Unlogged: after a crash of the server it begins empty.
CREATE UNLOGGED TABLE "call_count" (
    "key" TEXT NOT NULL,
    "calls" INTEGER NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "call_count_pkey" PRIMARY KEY ("key")
);
CREATE INDEX "call_count_ends_at_idx" ON "call_count"("ends_at");

-- Live streams that are open, by whichever web process. One that its process no longer renews does not count.
CREATE UNLOGGED TABLE "open_stream" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "open_stream_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "open_stream_user_id_idx" ON "open_stream"("user_id");
CREATE INDEX "open_stream_organization_id_idx" ON "open_stream"("organization_id");
SELECT guard.protect_system_table(name::regclass) FROM unnest(ARRAY['call_count', 'open_stream']) AS name;

-- Strangers make these rows grow; the worker prunes them by age and sees nothing else of them.
CREATE INDEX "sign_in_attempt_counted_at_idx" ON "sign_in_attempt"("counted_at");
CREATE INDEX "verification_expires_at_idx" ON "verification"("expires_at");
GRANT SELECT (counted_at, open_at), DELETE ON "sign_in_attempt" TO fairlead_system;
GRANT SELECT (expires_at), DELETE ON "verification" TO fairlead_system;
