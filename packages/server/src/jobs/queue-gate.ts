/** Decides whether a queue may run another job now. */
export interface QueueGate {
  /** A place for one job, which is counted; or how long to wait for one, in milliseconds. */
  take(): JobPermit | number;
}

/** Whoever has taken it says once what became of it. */
export interface JobPermit {
  /** There was nothing to lease after all. */
  giveBack(): void;
  /** Its job has ended, whatever it did or did not come to do. */
  end(): void;
}

const FREE: JobPermit = { giveBack: () => undefined, end: () => undefined };

export const OPEN_GATE: QueueGate = { take: () => FREE };

/** Lets through what both let through. */
export function bothGates(first: QueueGate, second: QueueGate): QueueGate {
  return {
    take() {
      const left = first.take();
      if (typeof left === 'number') return left;
      const right = second.take();
      if (typeof right !== 'number') return combinedPermit(left, right);
      left.giveBack();
      return right;
    },
  };
}

export function combinedPermit(first: JobPermit, second: JobPermit): JobPermit {
  return {
    giveBack() {
      first.giveBack();
      second.giveBack();
    },
    end() {
      first.end();
      second.end();
    },
  };
}
