import type { ConformanceCase } from '../conformance-case.ts';
import { having, listWith, listWithout } from '../matcher.ts';
import { del, each, get, json, post, put, refused, withoutToken } from '../requests.ts';

const CONNECTORS = '/rc/v1/connectors';
const NAME = 'conformance';
const NOTHING = { count: 0, samples: [] };
const REPORT = {
  ...{ kind: 'postgres', state: 'streaming', runs_in: 'process', server: 'a machine, process 1' },
  ...{ fresh_at: null, lag_ms: 40, position: '16/B374D848', rows_total: 7, rows_per_s: 0, slot: null, tables: [] },
  ...{ error: null, healed: null, problems: NOTHING, waiting: NOTHING },
};

/** What connectors report; no database is needed for that. */
export const connectorCases: readonly ConformanceCase[] = [
  {
    rule: 'PG-206',
    title: 'a connector reports, is listed and shown, and is forgotten',
    steps: () => {
      const shown = having({ name: NAME, state: 'streaming', rows_total: 7, is_configured: false });
      return [
        [put(`${CONNECTORS}/${NAME}`, REPORT), json(shown)],
        [get(CONNECTORS), json(listWith(shown))],
        [get(`${CONNECTORS}/${NAME}`), json(shown)],
        [post(`${CONNECTORS}/${NAME}/check`, {}), refused('connector_not_configured')],
        [del(`${CONNECTORS}/${NAME}`), json({ deleted: NAME })],
        [get(CONNECTORS), json(listWithout(having({ name: NAME })))],
        ...each(refused('token_missing'), withoutToken(get(CONNECTORS)), withoutToken(put(`${CONNECTORS}/x`, REPORT))),
      ];
    },
  },
];
