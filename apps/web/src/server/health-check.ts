// Health check of the database, from the result of the last second: one query runs at a time, however many callers there are.

export interface HealthCheck {
  isHealthy(): Promise<boolean>;
}

export interface HealthCheckOptions {
  /** Rejects when the database does not answer. */
  readonly query: () => Promise<unknown>;
  readonly onFailure: (error: unknown) => void;
  readonly now?: () => number;
}

const resultLifeMs = 1000;

export function createHealthCheck({
  query,
  onFailure,
  now = () => performance.now(),
}: HealthCheckOptions): HealthCheck {
  let last: { readonly at: number; readonly isHealthy: boolean } | undefined;
  let asking: Promise<boolean> | undefined;
  const askOnce = async (): Promise<boolean> => {
    const isHealthy = await query().then(
      () => true,
      (error: unknown) => {
        onFailure(error);
        return false;
      },
    );
    last = { at: now(), isHealthy };
    asking = undefined;
    return isHealthy;
  };
  return {
    isHealthy: async () => {
      if (last !== undefined && now() - last.at < resultLifeMs) return last.isHealthy;
      asking ??= askOnce();
      return asking;
    },
  };
}
