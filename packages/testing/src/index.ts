export { AnswerChecker } from './conformance/answer-checker.ts';
export {
  ADAPTER_OBJECTS,
  type AdapterArrival,
  type AdapterBench,
  adapterContract,
  type Behaviour,
} from './contracts/adapter-contract.ts';
export type { JobsBench, JobsCase, JobsEngine, JobsOptions, OpenJobs } from './contracts/jobs/jobs-case.ts';
export { jobsContract } from './contracts/jobs-contract.ts';
export { type LocalStoreEngine, type LocalStorePlace, localStoreContract } from './contracts/local-store-contract.ts';
export type { MovingEngine } from './contracts/moving/moving-case.ts';
export { movingContract } from './contracts/moving-contract.ts';
export type { StoreBench, StoreCapabilities, StoreCase, StoreEngine } from './contracts/store/store-case.ts';
export { storeContract } from './contracts/store-contract.ts';
export { type Page, type PageOptions, type TestBrowser, useBrowser } from './kit/browser.ts';
export * from './kit.ts';
export { lintDocument } from './openapi/lint-document.ts';
export { callsThatDoNotCompile } from './openapi/type-check-calls.ts';
export { uncataloguedCodes, undescribed } from './openapi/undescribed.ts';
