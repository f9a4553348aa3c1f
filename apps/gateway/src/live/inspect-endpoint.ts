// POST /internal/inspect: returns the build plan of a source to the web process as JSON. Authenticates with the token that both
// read from one file; checks again that the server belongs to the organization.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerId } from '@fairlead/contract/ids';
import { type InspectQuery, inspectQuery } from '@fairlead/contract/inspection';
import type { InspectingAgent, Inspections } from './inspections.ts';
import { readBody } from './read-body.ts';
import { refuse } from './stream.ts';

export const inspectPath = '/internal/inspect';

export interface InspectEndpointOptions {
  readonly isAllowed: (request: IncomingMessage) => boolean;
  readonly hasServer: (query: InspectQuery) => Promise<boolean>;
  readonly agentOf: (serverId: ServerId) => InspectingAgent | null;
  readonly inspections: Inspections;
}

export interface InspectEndpoint {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

export function createInspectEndpoint({
  isAllowed,
  hasServer,
  agentOf,
  inspections,
}: InspectEndpointOptions): InspectEndpoint {
  return {
    handle: async (request, response) => {
      if (!isAllowed(request)) return refuse(response, 'session.required');
      const query = inspectQuery.safeParse(await readBody(request));
      if (!query.success) return refuse(response, 'input.invalid');
      if (!(await hasServer(query.data))) return refuse(response, 'server.not_found');
      if (response.destroyed) return;
      const cancel = inspections.ask(agentOf(query.data.serverId), query.data, (inspection) => {
        response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
        response.end(JSON.stringify(inspection));
      });
      // Also after the answer, when there is nothing left to cancel.
      response.once('close', cancel);
    },
  };
}
