import { acknowledgedCases } from './acknowledged-cases.ts';
import { answerCases } from './answer-cases.ts';
import { changedCases } from './changed-cases.ts';
import { commitCases } from './commit-cases.ts';
import { commitTimeCases } from './commit-time-cases.ts';
import { concurrencyCases } from './concurrency-cases.ts';
import { copyCases } from './copy-cases.ts';
import { documentCases } from './document-cases.ts';
import { entryCases } from './entry-cases.ts';
import { erasureCases } from './erasure-cases.ts';
import { expectationCases } from './expectation-cases.ts';
import { fileCases } from './file-cases.ts';
import { guardCases } from './guard-cases.ts';
import { journalCases } from './journal-cases.ts';
import { journalPropertyCases } from './journal-property-cases.ts';
import { nameCases } from './name-cases.ts';
import { noteCases } from './note-cases.ts';
import { partitionCases } from './partition-cases.ts';
import { quotaCases } from './quota-cases.ts';
import { resetCases } from './reset-cases.ts';
import { statsCases } from './stats-cases.ts';
import type { StoreCase } from './store-case.ts';
import { textCases } from './text-cases.ts';
import { tidemarkCases } from './tidemark-cases.ts';
import { trimCases } from './trim-cases.ts';
import { verifyCases } from './verify-cases.ts';

/** Cases whose data is in one partition. In a cluster that is one slot, so they meet what one node does. */
const oneSlotCases: readonly StoreCase[] = [
  ...commitCases,
  ...commitTimeCases,
  ...expectationCases,
  ...quotaCases,
  ...journalCases,
  ...journalPropertyCases,
  ...trimCases,
  ...noteCases,
  ...textCases,
];

/** Cases with several partitions, or with data that no partition holds. */
export const severalSlotsCases: readonly StoreCase[] = [
  ...partitionCases,
  ...changedCases,
  ...guardCases,
  ...documentCases,
  ...entryCases,
  ...erasureCases,
  ...fileCases,
  ...tidemarkCases,
  ...acknowledgedCases,
  ...statsCases,
  ...nameCases,
  ...concurrencyCases,
  ...answerCases,
  ...verifyCases,
  ...resetCases,
  ...copyCases,
];

/** All cases of the contract. */
export const storeCases: readonly StoreCase[] = [...oneSlotCases, ...severalSlotsCases];
