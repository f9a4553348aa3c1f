-- Wrong passwords by account, so that guessing is slowed down whatever address it comes from. Belongs to identity: no role
-- but the login role reaches it.
CREATE TABLE "sign_in_attempt" (
    "key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "window_started_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_attempt_pkey" PRIMARY KEY ("key")
);
