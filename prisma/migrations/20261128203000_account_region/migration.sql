-- Locale and time zone in which a person reads numbers and times. Null: those of the browser.
ALTER TABLE "user" ADD COLUMN "locale" TEXT;
ALTER TABLE "user" ADD COLUMN "time_zone" TEXT;
