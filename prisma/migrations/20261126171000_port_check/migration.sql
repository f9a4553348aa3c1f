-- Secret of an organization's port checks: the name and the answer that only its proxies know come from it.
ALTER TABLE "organization" ADD COLUMN "port_check_token" UUID NOT NULL DEFAULT gen_random_uuid();

-- Every server gets a new version of desired state, which has the answer.
SET ROLE fairlead_system;
UPDATE "server" SET "desired_number" = "desired_number" + 1;
RESET ROLE;
