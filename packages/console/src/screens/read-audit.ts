import type { AuditFact, AuditPage } from '@tidemark/protocol';

const PAGE_FACTS = 1_000;
/** Entries of one export, which are in the memory of the page. */
export const EXPORT_FACTS_MAX = 100_000;

type ReadPage = (page: { readonly limit: number; readonly after?: string }) => Promise<AuditPage>;

/** Returns all entries that match. Throws if they are too many for one file. */
export async function readAudit(read: ReadPage): Promise<readonly AuditFact[]> {
  const facts: AuditFact[] = [];
  let after: string | null = null;
  do {
    const page: AuditPage = await read({ limit: PAGE_FACTS, ...(after === null ? {} : { after }) });
    facts.push(...page.facts);
    after = page.next;
    if (facts.length > EXPORT_FACTS_MAX) {
      const most = EXPORT_FACTS_MAX.toLocaleString('en');
      throw new Error(
        `More than ${most} entries match. Export fewer days at once, or use “tidemark audit --limit 1000000 --json-lines”.`,
      );
    }
  } while (after !== null);
  return facts;
}
