-- When a passkey proved a session: its device asked for a finger, a face or a PIN, so it stands for two factors.
ALTER TABLE "session" ADD COLUMN "passkey_at" TIMESTAMPTZ(3);
-- Whether a person has any, and nothing else of them: an organization's rule holds for their API tokens too.
GRANT SELECT (user_id) ON passkey TO fairlead_system;
