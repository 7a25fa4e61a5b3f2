/** A format that browsers may show, because it cannot contain scripts, and how its first bytes look. */
interface Format {
  readonly type: string;
  /** Text that the bytes have at these positions. */
  readonly marks: readonly (readonly [at: number, text: string])[];
}

/** So many bytes of a file tell its format. */
export const FORMAT_BYTES = 16;

const ISO_BRANDS: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  mif1: 'image/heif',
  isom: 'video/mp4',
  iso2: 'video/mp4',
  mp41: 'video/mp4',
  mp42: 'video/mp4',
  'qt  ': 'video/quicktime',
  'M4A ': 'audio/mp4',
};

const FORMATS: readonly Format[] = [
  { type: 'image/png', marks: [[0, '\x89PNG\r\n\x1a\n']] },
  { type: 'image/jpeg', marks: [[0, '\xff\xd8\xff']] },
  { type: 'image/gif', marks: [[0, 'GIF87a']] },
  { type: 'image/gif', marks: [[0, 'GIF89a']] },
  {
    type: 'image/webp',
    marks: [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  },
  {
    type: 'audio/wav',
    marks: [
      [0, 'RIFF'],
      [8, 'WAVE'],
    ],
  },
  { type: 'audio/mpeg', marks: [[0, 'ID3']] },
  { type: 'audio/ogg', marks: [[0, 'OggS']] },
  { type: 'audio/flac', marks: [[0, 'fLaC']] },
  { type: 'video/webm', marks: [[0, '\x1a\x45\xdf\xa3']] },
  { type: 'application/pdf', marks: [[0, '%PDF-']] },
  ...Object.entries(ISO_BRANDS).map(
    ([brand, type]): Format => ({
      type,
      marks: [
        [4, 'ftyp'],
        [8, brand],
      ],
    }),
  ),
];

/**
 * Returns the media type of a file that browsers may show, by its first bytes; null: it must be downloaded. What a device
 * says about a file is not used: two devices could say different things about the same bytes.
 */
export function shownType(head: Uint8Array): string | null {
  const text = Buffer.from(head).toString('latin1');
  const found = FORMATS.find(({ marks }) => marks.every(([at, mark]) => text.startsWith(mark, at)));
  return found?.type ?? null;
}
