-- Bytes of webhooks that an organization received within a day.
CREATE INDEX "webhook_delivery_organization_id_received_at_idx" ON "webhook_delivery"("organization_id", "received_at");
