-- GitHub accounts of people, and what they ask for on check runs.
CREATE TABLE "github_account" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "github_app_id" TEXT NOT NULL,
    "github_user_id" BIGINT NOT NULL,
    "login" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "github_account_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "github_account_github_app_id_github_user_id_key" ON "github_account"("github_app_id", "github_user_id");
CREATE UNIQUE INDEX "github_account_github_app_id_user_id_key" ON "github_account"("github_app_id", "user_id");
CREATE INDEX "github_account_user_id_idx" ON "github_account"("user_id");

ALTER TABLE "github_account" ADD CONSTRAINT "github_account_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "github_account" ADD CONSTRAINT "github_account_github_app_id_fkey" FOREIGN KEY ("github_app_id") REFERENCES "github_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- It is a way to sign in, so identity owns it. An organization sees the accounts at its own GitHub Apps.
ALTER TABLE github_account ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON github_account FOR SELECT TO fairlead_tenant
  USING (github_app_id IN (SELECT github_app.id FROM github_app));
CREATE POLICY system ON github_account TO fairlead_system USING (true) WITH CHECK (true);
GRANT SELECT ON github_account TO fairlead_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON github_account TO fairlead_system;

-- Answer to the last request on the check run, and the one that GitHub has.
ALTER TABLE github_report ADD COLUMN "note" TEXT NOT NULL DEFAULT '', ADD COLUMN "sent_note" TEXT NOT NULL DEFAULT '';

ALTER TABLE push_decision
  DROP CONSTRAINT push_decision_outcome_known,
  ADD CONSTRAINT push_decision_outcome_known
    CHECK (outcome IN ('deployed', 'skipped', 'superseded', 'paused', 'failed', 'refused'));
