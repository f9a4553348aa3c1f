-- Expand: deliveries that GitHub sent and that did not arrive are fetched from its log.
ALTER TABLE "github_app"
    ADD COLUMN "deliveries_read_until" TIMESTAMPTZ(3),
    ADD COLUMN "deliveries_due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

CREATE INDEX "github_app_deliveries_due_at_idx" ON "github_app"("deliveries_due_at");

ALTER TABLE "webhook_delivery" ADD COLUMN "is_recovered" BOOLEAN NOT NULL DEFAULT false;
