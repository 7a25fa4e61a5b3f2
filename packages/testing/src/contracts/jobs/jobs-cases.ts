import { batchCases } from './batch-cases.ts';
import { clockCases } from './clock-cases.ts';
import { failureCases } from './failure-cases.ts';
import { historyCases } from './history-cases.ts';
import type { JobsCase } from './jobs-case.ts';
import { leaseCases } from './lease-cases.ts';
import { operatorCases } from './operator-cases.ts';
import { orderCases } from './order-cases.ts';

/** All cases of the contract. */
export const jobsCases: readonly JobsCase[] = [
  ...leaseCases,
  ...batchCases,
  ...failureCases,
  ...orderCases,
  ...operatorCases,
  ...clockCases,
  ...historyCases,
];
