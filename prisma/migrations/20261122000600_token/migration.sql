-- What programs show instead of a session, and the machines that have a role of their own.
CREATE TABLE "service_account" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "service_account_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "api_token" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "hint" TEXT NOT NULL,
    "user_id" TEXT,
    "service_account_id" TEXT,
    "permissions" TEXT[],
    "project_id" TEXT,
    "environment_id" TEXT,
    "ip_ranges" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_token_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "service_account_organization_id_name_key" ON "service_account"("organization_id", "name");
CREATE UNIQUE INDEX "service_account_organization_id_id_key" ON "service_account"("organization_id", "id");
CREATE UNIQUE INDEX "api_token_hash_key" ON "api_token"("hash");
CREATE INDEX "api_token_organization_id_user_id_idx" ON "api_token"("organization_id", "user_id");
CREATE INDEX "api_token_organization_id_service_account_id_idx" ON "api_token"("organization_id", "service_account_id");

ALTER TABLE "service_account" ADD CONSTRAINT "service_account_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organization"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_organization_id_service_account_id_fkey" FOREIGN KEY ("organization_id", "service_account_id") REFERENCES "service_account"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_organization_id_project_id_fkey" FOREIGN KEY ("organization_id", "project_id") REFERENCES "project"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "api_token" ADD CONSTRAINT "api_token_organization_id_environment_id_fkey" FOREIGN KEY ("organization_id", "environment_id") REFERENCES "environment"("organization_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

SELECT guard.protect_tenant_table('service_account');
SELECT guard.protect_tenant_table('api_token');

ALTER TABLE api_token
  ADD CONSTRAINT api_token_of_one CHECK (num_nonnulls(user_id, service_account_id) = 1),
  ADD CONSTRAINT api_token_one_place CHECK (num_nonnulls(project_id, environment_id) <= 1);
