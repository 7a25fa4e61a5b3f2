import type { MovableStore } from '@tidemark/core';
import { describe, it } from 'vitest';
import type { MovingCase, MovingEngine } from './moving/moving-case.ts';
import { movingCases } from './moving/moving-cases.ts';

/** Registers the contract of export and import for one engine, without cases that need what the engine cannot do. */
export function movingContract(name: string, engine: MovingEngine): void {
  describe(`${name} can be carried elsewhere`, () => {
    for (const movingCase of movingCases) {
      const { needs, title } = movingCase;
      if (needs === null || engine[needs] !== undefined) it(title, () => runMovingCase(movingCase, engine));
    }
  });
}

async function runMovingCase({ run }: MovingCase, engine: MovingEngine): Promise<void> {
  const opened: MovableStore[] = [];
  const tracked = async (opening: Promise<MovableStore>) => {
    const store = await opening;
    opened.push(store);
    return store;
  };
  try {
    await run({
      engine,
      open: () => tracked(engine.open()),
      openTarget: () => tracked(engine.openTarget()),
    });
  } finally {
    for (const store of opened) await store.close().catch(() => undefined);
  }
}
