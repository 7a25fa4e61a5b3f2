import { describe, expect, it } from 'vitest';
import { PageMemory } from './page-memory.ts';

describe('memory of pages', () => {
  it('[PAGE-16] is used again by the same user and by nobody else, once at a time', () => {
    const memory = new PageMemory();
    const own = new Uint8Array(10);
    expect(memory.take('ada')).toBeNull();
    memory.giveBack('ada', own);
    expect(memory.take('bob')).toBeNull();
    expect(memory.take('ada')).toBe(own);
    expect(memory.take('ada')).toBeNull();
  });

  it('[PAGE-16] the larger piece is kept, and none that is very large', () => {
    const memory = new PageMemory();
    const large = new Uint8Array(20);
    memory.giveBack('ada', large);
    memory.giveBack('ada', new Uint8Array(10));
    memory.giveBack('ada', new Uint8Array(9 * 2 ** 20));
    expect(memory.take('ada')).toBe(large);
  });

  it('[PAGE-16] is kept for few users: those who pulled last', () => {
    const memory = new PageMemory();
    for (let user = 0; user < 20; user++) memory.giveBack(`${user}`, new Uint8Array(1));
    expect(memory.take('3')).toBeNull();
    expect(memory.take('4')).not.toBeNull();
    expect(memory.take('19')).not.toBeNull();
  });
});
