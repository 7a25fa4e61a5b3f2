/** How much of a whole is done. */
export function Gauge({ part, whole }: { readonly part: number; readonly whole: number }) {
  if (whole === 0) return <span>none</span>;
  const percent = Math.min(100, Math.floor((part / whole) * 100));
  return (
    <div className="gauge-cell">
      <div className="gauge" role="img" aria-label={`${percent} percent`}>
        <div className="gauge-bar" style={{ width: `${percent}%` }} />
      </div>
      <span>
        {part.toLocaleString('en')} of {whole.toLocaleString('en')}
      </span>
    </div>
  );
}
