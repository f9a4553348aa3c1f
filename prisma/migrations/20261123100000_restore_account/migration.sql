-- A link that gives an account back to its confirmed address for seven days after its first factor or another address.
ALTER TABLE "account_link" DROP CONSTRAINT "account_link_purpose_known";
ALTER TABLE "account_link" ADD CONSTRAINT "account_link_purpose_known"
  CHECK ("purpose" IN ('verify_email', 'change_email', 'reset_password', 'restore_account'));
-- No new account takes an address that such a link gives back.
CREATE INDEX "account_link_email_idx" ON "account_link"("email");
