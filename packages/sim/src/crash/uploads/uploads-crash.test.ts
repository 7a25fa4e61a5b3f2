import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { runUploadsCrashes } from './run-uploads-crashes.ts';

it('[UPBACK-14] a worker that is killed again and again loses no upload, repeats none, keeps the order and reports every outcome', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const report = await runUploadsCrashes({ kills: 5, uploads: 150, seed: 1, folder: folder.path });
  expect(report.problems).toEqual([]);
  expect(report.kills).toBe(5);
  expect(report.calls).toBeGreaterThanOrEqual(150);
});
