import type { Change } from './object-difference.ts';

/** An attribute with its value before and after. */
export function ChangedValue({ change: { name, before, after } }: { readonly change: Change }) {
  return (
    <>
      <b className="long">{name}</b>
      {before !== undefined && <del>{JSON.stringify(before)}</del>}
      {after !== undefined ? <ins>{JSON.stringify(after)}</ins> : <span>removed</span>}
    </>
  );
}
