-- Who may do what beyond the built-in roles, and environments that ask for a second pair of eyes.
ALTER TABLE "environment" ADD COLUMN "protected" BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE "custom_role" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "permissions" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "custom_role_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "role_grant" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "member_id" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "project_id" TEXT,
    "environment_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "role_grant_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "role_grant_one_scope" CHECK ("project_id" IS NULL OR "environment_id" IS NULL)
);

CREATE TABLE "deployment_approval" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "deployment_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "requested_by_user_id" TEXT,
    "decided_by_user_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "decided_at" TIMESTAMPTZ(3),

    CONSTRAINT "deployment_approval_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "deployment_approval_state" CHECK ("state" IN ('pending', 'approved', 'refused')),
    -- The second pair of eyes, also if a verb forgot to look.
    CONSTRAINT "deployment_approval_by_another" CHECK ("decided_by_user_id" <> "requested_by_user_id")
);

CREATE UNIQUE INDEX "custom_role_organization_id_name_key" ON "custom_role"("organization_id", "name");
CREATE UNIQUE INDEX "custom_role_organization_id_id_key" ON "custom_role"("organization_id", "id");
CREATE UNIQUE INDEX "member_organization_id_id_key" ON "member"("organization_id", "id");
CREATE UNIQUE INDEX "role_grant_once" ON "role_grant"("member_id", "role", "project_id", "environment_id") NULLS NOT DISTINCT;
CREATE INDEX "role_grant_organization_id_member_id_idx" ON "role_grant"("organization_id", "member_id");
CREATE INDEX "role_grant_project_id_idx" ON "role_grant"("project_id");
CREATE INDEX "role_grant_environment_id_idx" ON "role_grant"("environment_id");
CREATE UNIQUE INDEX "deployment_approval_deployment_id_key" ON "deployment_approval"("deployment_id");
CREATE UNIQUE INDEX "deployment_approval_organization_id_deployment_id_key" ON "deployment_approval"("organization_id", "deployment_id");

ALTER TABLE "custom_role" ADD CONSTRAINT "custom_role_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "role_grant" ADD CONSTRAINT "role_grant_organization_id_member_id_fkey" FOREIGN KEY ("organization_id", "member_id") REFERENCES "member"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "role_grant" ADD CONSTRAINT "role_grant_organization_id_project_id_fkey" FOREIGN KEY ("organization_id", "project_id") REFERENCES "project"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "role_grant" ADD CONSTRAINT "role_grant_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "deployment_approval" ADD CONSTRAINT "deployment_approval_organization_id_deployment_id_fkey" FOREIGN KEY ("organization_id", "deployment_id") REFERENCES "deployment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('custom_role');
SELECT guard.protect_tenant_table('role_grant');
SELECT guard.protect_tenant_table('deployment_approval');
