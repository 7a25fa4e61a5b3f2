import { useQuery } from '@tanstack/react-query';
import { Loaded } from './loaded.tsx';

/** The light margin that readers need around a QR code, in modules. */
const QUIET_ZONE = 4;

/** Draws a text as a QR code, dark on white in both colour schemes. The encoder is loaded when the first one is shown. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const encoder = useQuery({ queryKey: ['qr encoder'], queryFn: async () => (await import('qr')).encodeQR });
  return (
    <Loaded query={encoder}>
      {(encodeQR) => {
        const rows = encodeQR(text, 'raw', { ecc: 'medium', border: QUIET_ZONE });
        return (
          <svg className="qr" role="img" aria-label={label} viewBox={`0 0 ${rows.length} ${rows.length}`}>
            <path d={rows.map(pathOfRow).join('')} />
          </svg>
        );
      }}
    </Loaded>
  );
}

/** Returns one square for each dark module of a row. */
function pathOfRow(row: readonly boolean[], y: number): string {
  return row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')).join('');
}
