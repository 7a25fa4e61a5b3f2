import { pointer, Refusal } from '@tidemark/protocol';
import { AuditFact } from '@tidemark/protocol/admin/audit';
import { Type } from '@tidemark/protocol/typebox';
import { route } from '../http/route.ts';
import { pageOf } from './paging.ts';
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
    if (query.after !== undefined && !FACT_ID.test(query.after)) throw notAnId();
    return context.tidemark.audit.list(pageOf(query));
  },
});

const FACT_ID = /^[0-9a-z]{9}-[0-9a-f]{12}$/;

function notAnId(): Refusal {
  const detail = 'must be the id of an entry';
  return new Refusal('invalid_value', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}

export const auditRoutes = [list];
