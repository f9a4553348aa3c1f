export { chunkLines, type RecordedPushes, recordPushes } from './record-pushes.ts';
export { type RecordReportInput, recordReport } from './record-report.ts';
