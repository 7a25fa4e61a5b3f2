import { backupCases } from './cases/backup-cases.ts';
import { clientCases } from './cases/client-cases.ts';
import { connectorCases } from './cases/connector-cases.ts';
import { deviceCases } from './cases/device-cases.ts';
import { documentCases } from './cases/document-cases.ts';
import { fileCases } from './cases/file-cases.ts';
import { groupCases } from './cases/group-cases.ts';
import { httpCases } from './cases/http-cases.ts';
import { jobCases } from './cases/job-cases.ts';
import { pingCases } from './cases/ping-cases.ts';
import { pushCases } from './cases/push-cases.ts';
import { schemaCases } from './cases/schema-cases.ts';
import { sourceCases } from './cases/source-cases.ts';
import { systemCases } from './cases/system-cases.ts';
import { tokenCases } from './cases/token-cases.ts';
import { userCases } from './cases/user-cases.ts';
import type { ConformanceCase } from './conformance-case.ts';

/** All promises of the REST API, in the order of the specification, then those of Tidemark's own routes. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...systemCases,
  ...backupCases,
  ...documentCases,
  ...userCases,
  ...pingCases,
  ...groupCases,
  ...sourceCases,
  ...schemaCases,
  ...clientCases,
  ...pushCases,
  ...tokenCases,
  ...jobCases,
  ...httpCases,
  ...deviceCases,
  ...fileCases,
  ...connectorCases,
];
