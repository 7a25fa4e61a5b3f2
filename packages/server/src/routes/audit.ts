import { pointer, Refusal } from '@tidemark/protocol';
import { AuditFact, AuditPage } from '@tidemark/protocol/admin/audit';
import { text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { route } from '../http/route.ts';
import { momentIn, pageOf } from './paging.ts';
import { pageQuery } from './shapes.ts';

const list = route({
  method: 'GET',
  path: '/rc/v1/audit',
  operationId: 'auditList',
  scope: 'admin',
  summary: 'Audit entries, newest first',
  query: pageQuery('the id of an entry', '0kz8m1q7v-9f86d081884c', {}),
  answer: Type.Array(AuditFact, { description: 'Entries, newest first.' }),
  handle: async ({ context, query }) => {
    requireId(query.after);
    return context.tidemark.audit.list(pageOf(query));
  },
});

const search = route({
  method: 'GET',
  path: '/rc/v1/audit/search',
  operationId: 'auditSearch',
  scope: 'admin',
  summary: 'Audit entries by person, action, subject and time, newest first',
  description:
    'One call reads 5,000 entries at most, so a page may have few facts, or none, and not be the last: go on with `next` until it is null.',
  query: pageQuery('`next` of that page', '0kz8m1q7v-9f86d081884c', {
    actor: Type.Optional(text('Only what this login did.', 'admin')),
    action: Type.Optional(text('Only this action, or with a dot at the end all that begin so.', 'user.')),
    about: Type.Optional(text('Only entries about the user, device, source, group or object of this name.', 'anna')),
    from: Type.Optional(text('Only entries from this moment on.', '2030-01-31T00:00:00Z')),
    to: Type.Optional(text('Only entries before this moment.', '2030-02-01T00:00:00Z')),
  }),
  answer: AuditPage,
  handle: async ({ context, query }) => {
    requireId(query.after);
    const { actor, action, about, from, to } = query;
    const given = { actor, action, about, fromMs: momentIn('from', from), toMs: momentIn('to', to) };
    const wanted = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return context.tidemark.audit.search({ ...wanted, ...pageOf(query) });
  },
});

const FACT_ID = /^[0-9a-z]{9}-[0-9a-f]{12}$/;

function requireId(after: string | undefined): void {
  if (after !== undefined && !FACT_ID.test(after)) throw notAnId();
}

function notAnId(): Refusal {
  const detail = 'must be the id of an entry';
  return new Refusal('invalid_value', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}

export const auditRoutes = [list, search];
