export { AnswerChecker } from './conformance/answer-checker.ts';
export {
  ADAPTER_OBJECTS,
  type AdapterArrival,
  type AdapterFixture,
  adapterContract,
  type Behaviour,
} from './contracts/adapter-contract.ts';
export { diskPartContract } from './contracts/disk-part-contract.ts';
export { type FileEngineUnderTest, fileEngineContract } from './contracts/file-engine-contract.ts';
export type { JobsCase, JobsEngine, JobsFixture, JobsOptions, OpenJobs } from './contracts/jobs/jobs-case.ts';
export { jobsContract } from './contracts/jobs-contract.ts';
export { localStoreContract } from './contracts/local-store-contract.ts';
export type { MovingEngine } from './contracts/moving/moving-case.ts';
export { movingContract } from './contracts/moving-contract.ts';
export type { StoreCapabilities, StoreCase, StoreEngine, StoreFixture } from './contracts/store/store-case.ts';
export { clusterContract, storeContract } from './contracts/store-contract.ts';
export { type Page, type PageOptions, type TestBrowser, useBrowser } from './kit/browser.ts';
export { itLong } from './kit/it-long.ts';
export { newTypescriptApp, type TypescriptApp } from './kit/typescript-app.ts';
export * from './kit.ts';
export { backendDescription } from './openapi/backend-description.ts';
export { lintDocument } from './openapi/lint-document.ts';
export { callsThatDoNotCompile } from './openapi/type-check-calls.ts';
export { uncataloguedCodes, undescribed } from './openapi/undescribed.ts';
export { wireReport } from './openapi/wire-report.ts';
