export { type Backend, type BackendOptions, startBackend } from './backend.ts';
export { DISPATCHER, TECHNICIANS } from './crews.ts';
export type { Row } from './database.ts';
export type { PartUse } from './part-uses.ts';
export type { Part } from './price-list.ts';
export { type Secrets, secretsIn } from './secrets.ts';
export { PHOTOS, setUpTidemark } from './set-up-tidemark.ts';
export { startTidemark, type TidemarkProcess } from './tidemark-process.ts';
export type { WorkOrder } from './work-orders.ts';
