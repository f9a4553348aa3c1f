-- Who made a token: what a service account asks for, its maker cannot approve. Null for tokens from before. No foreign key:
-- it stays as history when they go.
ALTER TABLE "api_token" ADD COLUMN "created_by_user_id" TEXT;
