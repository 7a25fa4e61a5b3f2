import type { Mapping } from '@tidemark/postgres';
import { type MappingChoice, type OptionalTable, SOURCES } from './step.ts';

/** The mapping of a history. `own` gives sources, users and groups the names that they have in it. */
export function mappingOf({ tables, hasMade }: MappingChoice, slot: string, own: (name: string) => string): Mapping {
  const has = (table: OptionalTable) => tables.includes(table);
  return {
    ...{ publication: 'tidemark', slot },
    tables: {
      ...(has('wares') ? { 'public.wares': { source: own(SOURCES.wares), owner: 'shared' } } : {}),
      ...(has('notes')
        ? {
            'public.notes': {
              source: own(SOURCES.notes),
              owner: { user: 'owner' },
              columns: { title: 'title', body: 'text', ...(hasMade ? { made: 'made' } : {}) },
            },
          }
        : {}),
      ...(has('lines')
        ? {
            'public.lines': {
              source: own(SOURCES.lines),
              owner: { through: ['order_id'], parent: 'public.orders' },
              columns: { ware: 'ware', body: 'body' },
            },
          }
        : {}),
      'public.orders': { source: own(SOURCES.orders), owner: { group: 'crew' } },
    },
    members: has('members') ? { 'public.members': { user: 'login', group: 'crew' } } : {},
    users: { 'public.users': { login: 'login', attributes: { name: 'name' } } },
  };
}
