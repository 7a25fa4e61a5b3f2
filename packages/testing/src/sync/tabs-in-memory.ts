import type { TabFeatures } from '@tidemark/client';

/** Channels and locks for devices of one process. */
export function tabsInMemory(): TabFeatures {
  const channels = new Set<{ readonly name: string; readonly onMessage: (message: unknown) => void }>();
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const pass = () => {
    const next = waiting.shift();
    isHeld = next !== undefined;
    next?.();
  };
  return {
    openChannel: (name, onMessage) => {
      const channel = { name, onMessage };
      channels.add(channel);
      return {
        post: (message) => {
          for (const other of channels) {
            if (other === channel || other.name !== name) continue;
            const copy: unknown = structuredClone(message);
            queueMicrotask(() => channels.has(other) && other.onMessage(copy));
          }
        },
        close: () => void channels.delete(channel),
      };
    },
    requestLock: (_name, { onHeld }) => {
      let isMine = false;
      const hold = () => {
        isMine = true;
        onHeld();
      };
      waiting.push(hold);
      if (!isHeld) queueMicrotask(() => !isHeld && pass());
      return () => {
        const at = waiting.indexOf(hold);
        if (at >= 0) waiting.splice(at, 1);
        if (isMine) pass();
        isMine = false;
      };
    },
  };
}
