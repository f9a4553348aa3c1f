-- A session counts as two-factor by what it has proven itself: a passkey, a code of the authenticator app, or a recovery code.
ALTER TABLE "session" RENAME COLUMN "passkey_at" TO "second_factor_at";
-- Sessions that began after the app was turned on were opened with a code.
UPDATE "session" SET "second_factor_at" = "session"."created_at"
  FROM "user", (SELECT user_id, max(at) AS at FROM account_event WHERE kind = 'two_factor_on' GROUP BY user_id) AS turned_on
  WHERE "session"."second_factor_at" IS NULL AND "user".id = "session".user_id AND "user".two_factor_enabled
    AND turned_on.user_id = "session".user_id AND "session".created_at > turned_on.at;
