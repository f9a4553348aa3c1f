-- Template that an app was created from.
ALTER TABLE "app" ADD COLUMN "template" TEXT;
