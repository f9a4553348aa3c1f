// Converts an agent's pushes to live events: latencies as histograms that the browser merges, amounts per second, timestamps on the gateway's
// clock.
import type { Frame, HostSample, LogChunk, AppSample as WireAppSample } from '@fairlead/contract/agent';
import { histogramFromWire, histogramToPairs } from '@fairlead/contract/histogram';
import { isId, type ServerId } from '@fairlead/contract/ids';
import type { LiveEvent } from '@fairlead/contract/live';
import { chunkLines } from '@fairlead/core/link';

/** Returns the frame's events with the gateway's timestamps. Skips samples with impossible ids or histograms. */
export function frameEvents(serverId: string, frame: Frame, clockOffsetMs: number): LiveEvent[] {
  if (!isId('srv', serverId)) return [];
  const unixMs = Math.max(0, Number(frame.agentUnixMs) - clockOffsetMs);
  const seconds = Math.max(frame.durationMs, 1) / 1000;
  const events: LiveEvent[] = [];
  if (frame.host !== undefined) events.push(serverEvent(serverId, frame.host, unixMs, seconds));
  for (const sample of frame.apps) {
    const event = appEvent(serverId, sample, unixMs, seconds);
    if (event !== null) events.push(event);
  }
  return events;
}

function serverEvent(serverId: ServerId, host: HostSample, unixMs: number, seconds: number): LiveEvent {
  return {
    type: 'server.sample',
    serverId,
    unixMs,
    cpuMillis: host.cpuMillis,
    memoryUsedBytes: Number(host.memoryUsedBytes),
    memoryTotalBytes: Number(host.memoryTotalBytes),
    diskUsedBytes: Number(host.diskUsedBytes),
    diskTotalBytes: Number(host.diskTotalBytes),
    networkReceivedBytesPerSecond: Number(host.networkReceivedBytes) / seconds,
    networkSentBytesPerSecond: Number(host.networkSentBytes) / seconds,
    load1Millis: host.load1Millis,
    agentCpuMillis: host.agentCpuMillis,
    agentMemoryBytes: Number(host.agentMemoryBytes),
    openConnections: host.openConnections,
  };
}

function appEvent(serverId: ServerId, sample: WireAppSample, unixMs: number, seconds: number): LiveEvent | null {
  const { appId, environmentId } = sample;
  const latency = histogramFromWire(sample.latency);
  if (latency === null || !isId('app', appId) || !isId('env', environmentId)) return null;
  return {
    type: 'app.sample',
    appId,
    environmentId,
    serverId,
    unixMs,
    requestsPerSecond: sample.requests / seconds,
    errorsPerSecond: sample.errors / seconds,
    clientErrorsPerSecond: sample.clientErrors / seconds,
    latency: histogramToPairs(latency),
    bytesReceivedPerSecond: Number(sample.bytesReceived) / seconds,
    bytesSentPerSecond: Number(sample.bytesSent) / seconds,
    cpuMillis: sample.cpuMillis,
    memoryBytes: Number(sample.memoryBytes),
    inFlight: sample.inFlight,
  };
}

type LogLines = Extract<LiveEvent, { type: 'log.lines' }>;

/**
 * Returns the chunk's lines with the gateway's timestamps; null when it names no deployment or contains no valid line.
 */
export function logEvent(chunk: LogChunk, clockOffsetMs: number): LogLines | null {
  const { deploymentId } = chunk;
  const firstLine = Number(chunk.firstLine);
  if (!isId('dep', deploymentId) || !Number.isSafeInteger(firstLine)) return null;
  return { type: 'log.lines', deploymentId, firstLine, lines: chunkLines(chunk, clockOffsetMs) };
}
