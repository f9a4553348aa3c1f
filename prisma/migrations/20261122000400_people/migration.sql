-- Who is asked to join, who must show a second factor, and organizations that are going to end.
ALTER TABLE "organization"
  ADD COLUMN "requires_two_factor" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "delete_at" TIMESTAMPTZ(3),
  ADD COLUMN "ending_at" TIMESTAMPTZ(3);

CREATE TABLE "invitation" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "email" TEXT,
    "role" TEXT NOT NULL,
    "invited_by_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "renewals" INTEGER NOT NULL DEFAULT 0,
    "renewed_at" TIMESTAMPTZ(3) NOT NULL,
    "mailed_at" TIMESTAMPTZ(3),
    "claims" INTEGER NOT NULL DEFAULT 0,
    "accepted_at" TIMESTAMPTZ(3),
    "accepted_by_user_id" TEXT,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "invitation_email_lower" CHECK ("email" = lower("email"))
);

CREATE UNIQUE INDEX "invitation_token_hash_key" ON "invitation"("token_hash");
CREATE INDEX "invitation_organization_id_created_at_idx" ON "invitation"("organization_id", "created_at");
-- The sweep looks at organizations that are going to end only.
CREATE INDEX "organization_delete_at" ON "organization"("delete_at") WHERE "delete_at" IS NOT NULL;

ALTER TABLE "invitation" ADD CONSTRAINT "invitation_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('invitation');
