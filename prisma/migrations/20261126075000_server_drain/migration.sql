-- Drain of a server: its start and its author.
ALTER TABLE "server" ADD COLUMN "drained_at" TIMESTAMPTZ(3);
ALTER TABLE "server" ADD COLUMN "drained_by_user_id" TEXT;
