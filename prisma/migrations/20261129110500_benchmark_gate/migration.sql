-- Measured rounds of the benchmark gate of a deployment on one server. Null: it has none, or has not begun.
ALTER TABLE "deployment_server" ADD COLUMN "gate_rows" JSONB;
