// Counts the copies of an app on each of its servers, wanted and working.
import { Prisma } from '@fairlead/db';

/**
 * Lateral join for a query with `placement`: `copies.wanted` and `copies.working`. With an autoscaler, the minimum is
 * wanted. A sleeping copy counts as working, because a request wakes it.
 */
export const copiesOfPlacement = Prisma.sql`LATERAL (
  SELECT greatest(1, coalesce((
           SELECT (config.settings -> 'autoscaling' ->> 'instancesMin')::int FROM app_config AS config
           WHERE config.app_id = placement.app_id AND config.environment_id = placement.environment_id
           ORDER BY config.number DESC LIMIT 1
         ), placement.instances)) AS wanted,
         (SELECT count(*)::int FROM instance
          WHERE instance.app_id = placement.app_id AND instance.environment_id = placement.environment_id
            AND instance.server_id = placement.server_id AND instance.release_id = placement.live_release_id
            AND instance.process = 'web' AND instance.state IN ('healthy', 'asleep')) AS working
) AS copies`;
