import type { Step } from './step.ts';

/** Simpler forms of a step: fewer transactions, and fewer statements in them. */
export function simplifyStep(step: Step): readonly Step[] {
  if (step.kind !== 'transactions') return [];
  const { transactions } = step;
  const fewer = transactions.length > 1 ? transactions.map((_, index) => transactions.toSpliced(index, 1)) : [];
  const shorter = transactions.flatMap((one, index) =>
    one.statements.length > 1
      ? one.statements.map((_, at) => transactions.with(index, { ...one, statements: one.statements.toSpliced(at, 1) }))
      : [],
  );
  return [...fewer, ...shorter].map((simpler) => ({
    kind: 'transactions',
    transactions: simpler,
    turns: simpler.flatMap(({ statements }, index) => statements.map(() => index)),
  }));
}
