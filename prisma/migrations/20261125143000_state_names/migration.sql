-- A crash-looping instance and the variables that a release expects have one name in all layers
-- (packages/core/src/app/schema.ts, packages/core/src/release/schema.ts).
SET ROLE fairlead_system;
UPDATE "instance" SET "state" = 'crash_looping' WHERE "state" = 'given_up';
UPDATE "release"
  SET "plan" = ("plan" - 'expectedNames') || jsonb_build_object('expectedVariables', "plan" -> 'expectedNames')
  WHERE "plan" ? 'expectedNames';
-- Three switches of the desired state changed their meaning on the wire, so every server gets a new version of it.
UPDATE "server" SET "desired_number" = "desired_number" + 1;
RESET ROLE;
