/** Decides whether a queue may run another job now. */
export interface QueueGate {
  /** Returns a permit for one job, or how long to wait for one, in milliseconds. */
  take(): JobPermit | number;
}

/** The holder calls one of the functions once. */
export interface JobPermit {
  /** Called if there was no job to lease. */
  giveBack(): void;
  /** Called when the job has ended, whatever its result. */
  end(): void;
}

const FREE: JobPermit = { giveBack: () => undefined, end: () => undefined };

export const OPEN_GATE: QueueGate = { take: () => FREE };

/** Admits a job if both gates do. */
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
