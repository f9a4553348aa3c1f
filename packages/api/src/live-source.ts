// Interface of live data: the API subscribes to topics and gets events, and knows neither streams nor sockets.
import type { AppLogBatch, AppLogQuery } from '@fairlead/contract/app-log';
import type { OrganizationId } from '@fairlead/contract/ids';
import type { Inspection, InspectQuery } from '@fairlead/contract/inspection';
import type { LiveEvent, LiveTopic } from '@fairlead/contract/live';

export interface LiveSubscription {
  readonly organizationId: OrganizationId;
  /** Already proven to belong to the organization. */
  readonly topics: readonly LiveTopic[];
  /** Ends the stream; the source then frees what it holds for it. */
  readonly signal: AbortSignal;
}

export interface LiveSource {
  subscribe(subscription: LiveSubscription): AsyncIterable<LiveEvent>;
  /**
   * Searches log lines on the servers. The caller has checked that the app and its servers belong to the organization.
   */
  searchLogs(query: AppLogQuery, signal: AbortSignal): AsyncIterable<AppLogBatch>;
  /** Plan of a source, read by a server now. The server is proven to belong to the organization. */
  inspect(query: InspectQuery, signal: AbortSignal): Promise<Inspection>;
}
