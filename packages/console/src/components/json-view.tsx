const SHOWN_UNITS_MAX = 100_000;

/** A value as JSON, in lines. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = JSON.stringify(value, null, 2);
  return (
    // Keyboards scroll a long value only if it can have the focus.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="json" aria-label={label} tabIndex={0}>
      <pre>
        {text.slice(0, SHOWN_UNITS_MAX)}
        {text.length > SHOWN_UNITS_MAX &&
          `\n… and ${(text.length - SHOWN_UNITS_MAX).toLocaleString('en')} characters more`}
      </pre>
    </section>
  );
}
