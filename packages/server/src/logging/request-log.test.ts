import { describe, expect, it } from 'vitest';
import { REQUEST_LINES_PER_S_MAX } from '../limits.ts';
import { openLog } from './open-log.ts';
import { type RequestFacts, RequestLog } from './request-log.ts';

const FACTS: RequestFacts = {
  request_id: 'r1',
  method: 'GET',
  route: '/rc/v1/users',
  path: null,
  status: 200,
  aborted: false,
  code: null,
  duration_ms: 1.5,
  bytes_in: 0,
  bytes_out: 200,
  user_id: 'admin',
  client_id: null,
  token_id: 't1',
};

function newLog() {
  const chunks: string[] = [];
  const { logger } = openLog({ level: 'info', format: 'json', stream: { write: (text) => chunks.push(text) } });
  const clock = { nowMs: 0 };
  const outage = { causes: () => isStoreLost };
  let isStoreLost = false;
  const loseStore = () => {
    isStoreLost = true;
  };
  const log = new RequestLog(logger, outage, () => clock.nowMs);
  const end = (status: number, elapsedMs: number, isStream = false) =>
    log.ended({ status, code: null, elapsedMs, isStream }, () => FACTS);
  const lines = () => chunks.map((text) => JSON.parse(text) as Record<string, unknown>);
  return { log, clock, end, lines, loseStore };
}

describe('the request log', () => {
  it('[LOG-5] with log.requests every request has a line, failed and slow ones at a higher level', () => {
    const { log, end, lines } = newLog();
    log.configure({ isComplete: true, slowMs: 100 });
    end(200, 100);
    end(404, 1);
    end(500, 1);
    end(200, 100.1);
    expect(lines().map(({ level }) => level)).toEqual(['info', 'info', 'warn', 'warn']);
    expect(lines()[0]).toEqual({ level: 'info', time: expect.any(String), event: 'request', ...FACTS });
  });

  it('[LOG-5] without log.requests only failed and slow requests have a line, and streams are never slow', () => {
    const { log, end, lines } = newLog();
    log.configure({ isComplete: false, slowMs: 100 });
    end(200, 100);
    end(499, 1);
    end(200, 9_999, true);
    expect(lines()).toEqual([]);
    end(500, 1);
    end(200, 101);
    expect(lines().map(({ level, event }) => [level, event])).toEqual([
      ['warn', 'request'],
      ['warn', 'request'],
    ]);
  });

  it('[LOG-20] while the store is lost requests that fail for it have lines with log.requests only', () => {
    const { log, end, lines, loseStore } = newLog();
    loseStore();
    log.configure({ isComplete: false, slowMs: 100 });
    end(503, 1);
    expect(lines()).toEqual([]);
    log.configure({ isComplete: true, slowMs: 100 });
    end(503, 1);
    expect(lines()).toHaveLength(1);
  });

  it('[LOG-6] lines about failed requests are bounded per second, and the others are counted', () => {
    const { log, clock, end, lines } = newLog();
    log.configure({ isComplete: false, slowMs: 100 });
    for (let i = 0; i < REQUEST_LINES_PER_S_MAX + 7; i++) end(503, 1);
    expect(lines()).toHaveLength(REQUEST_LINES_PER_S_MAX);
    clock.nowMs = 1_000;
    end(503, 1);
    expect(lines().slice(REQUEST_LINES_PER_S_MAX)).toEqual([
      expect.objectContaining({ event: 'requests_not_logged', count: 7 }),
      expect.objectContaining({ event: 'request' }),
    ]);
  });
});
