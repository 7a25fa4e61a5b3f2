export { textOf } from './backend/utf8-chunks.ts';
export { compose, type Running } from './compose.ts';
export type { Config } from './config/config.ts';
export { ConfigProblem } from './config/config-problem.ts';
export { readConfig } from './config/load-config.ts';
export { buildHttp } from './http/app.ts';
export { JsonLines, JsonParts, type Route, route } from './http/route.ts';
export * as serverLimits from './limits.ts';
export { Metrics } from './telemetry/metrics.ts';
