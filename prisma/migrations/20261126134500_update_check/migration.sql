-- Newest release that the feed of updates offers. One row.
CREATE TABLE "update_check" (
    "id" TEXT NOT NULL DEFAULT 'latest',
    "checked_at" TIMESTAMPTZ(3) NOT NULL,
    "version" TEXT,
    "released_at" TIMESTAMPTZ(3),
    "changelog" TEXT,
    "failure" TEXT,

    CONSTRAINT "update_check_pkey" PRIMARY KEY ("id")
);

ALTER TABLE update_check ADD CONSTRAINT update_check_single CHECK (id = 'latest');
ALTER TABLE update_check ADD CONSTRAINT update_check_release_whole
  CHECK ((version IS NULL) = (released_at IS NULL) AND (version IS NULL) = (changelog IS NULL));

SELECT guard.protect_system_table('update_check');
