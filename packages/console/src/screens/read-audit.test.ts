import type { AuditFact, AuditPage } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { EXPORT_FACTS_MAX, readAudit } from './read-audit.ts';

/** Answers pages of so many entries in all. */
function pagesOf(count: number) {
  return async ({ limit, after = '0' }: { readonly limit: number; readonly after?: string }): Promise<AuditPage> => {
    const first = Number(after);
    const end = Math.min(count, first + limit);
    const facts = Array.from({ length: end - first }, (_, index) => ({ id: String(first + index) }) as AuditFact);
    return { facts, next: end < count ? String(end) : null };
  };
}

it('[CONSOLE-126] an export of the audit trail has all entries, or says that they are too many', async () => {
  expect(await readAudit(pagesOf(0))).toEqual([]);
  expect((await readAudit(pagesOf(2_500))).map(({ id }) => id)).toEqual(
    Array.from({ length: 2_500 }, (_, id) => `${id}`),
  );
  expect((await readAudit(pagesOf(EXPORT_FACTS_MAX))).length).toBe(EXPORT_FACTS_MAX);
  await expect(readAudit(pagesOf(EXPORT_FACTS_MAX + 1))).rejects.toThrow('More than 100,000 entries match');
});
