-- The role and the permission for billing go until there is something to bill (packages/core/src/role/schema.ts). The role
-- could read what viewers read.
SET ROLE fairlead_system;
UPDATE "member" SET "role" = 'viewer' WHERE "role" = 'billing';
-- A member has each role once in a place.
DELETE FROM "role_grant" AS former USING "role_grant" AS kept
  WHERE former."role" = 'billing' AND kept."role" = 'viewer' AND kept."member_id" = former."member_id"
    AND kept."project_id" IS NOT DISTINCT FROM former."project_id"
    AND kept."environment_id" IS NOT DISTINCT FROM former."environment_id";
UPDATE "role_grant" SET "role" = 'viewer' WHERE "role" = 'billing';
UPDATE "invitation" SET "role" = 'viewer' WHERE "role" = 'billing';
UPDATE "service_account" SET "role" = 'viewer' WHERE "role" = 'billing';
UPDATE "custom_role" SET "permissions" = array_remove("permissions", 'billing.read');
UPDATE "api_token" SET "permissions" = array_remove("permissions", 'billing.read');
RESET ROLE;
