import { Refusal } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { failureOf } from './failure.ts';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

function codeOf(error: unknown): string {
  const failure = failureOf(error);
  return failure instanceof Refusal ? failure.code : 'bug';
}

describe('failures', () => {
  it.each([
    ['LOADING Valkey is loading the dataset in memory', 'store_unavailable'],
    ['BUSY Redis is busy running a script.', 'store_unavailable'],
    ["READONLY You can't write against a read only replica.", 'store_unavailable'],
    ['CLUSTERDOWN The cluster is down', 'store_unavailable'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'store_unavailable'],
    ['NOREPLICAS Not enough good replicas to write.', 'store_unavailable'],
    ['MISCONF Errors writing to the AOF file', 'store_unavailable'],
    ['NOAUTH Authentication required.', 'store_unavailable'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'store_full'],
    ['ERR user_script:12: attempt to index a nil value', 'bug'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'bug'],
  ])('[VALKEY-1] the error %s becomes %s', (message, code) => {
    expect(codeOf(reply(message))).toBe(code);
  });

  it('[VALKEY-1] a refusal after a lost connection does not contain the address of the server', () => {
    for (const message of ['Connection is closed.', 'connect ECONNREFUSED 10.0.0.7:6379']) {
      expect(failureOf(new Error(message)).message).toBe('the store does not serve: it cannot be reached');
    }
    expect(failureOf(new Error('Command timed out')).message).toMatch(/did not answer in time/);
  });
});
