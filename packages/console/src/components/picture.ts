/** Pictures are shown within a square of so many pixels. */
const SIDE_PX_MAX = 1_024;

/** Collects bytes that arrive in pieces. Null: there are more than expected. */
export async function collectBytes(
  bytes: AsyncIterable<Uint8Array>,
  bytesMax: number,
  type: string,
): Promise<Blob | null> {
  const parts: BlobPart[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > bytesMax) return null;
    parts.push(chunk as Uint8Array<ArrayBuffer>);
  }
  return new Blob(parts, { type });
}

/** Decodes a picture and makes it small enough to show. Null: the bytes are no picture that the browser knows. */
export async function decodePicture(bytes: Blob): Promise<ImageBitmap | null> {
  const whole = await createImageBitmap(bytes).catch(() => null);
  if (whole === null) return null;
  const scale = SIDE_PX_MAX / Math.max(whole.width, whole.height);
  if (scale >= 1) return whole;
  const side = (px: number) => Math.max(1, Math.round(px * scale));
  const size = { resizeWidth: side(whole.width), resizeHeight: side(whole.height), resizeQuality: 'high' } as const;
  const small = await createImageBitmap(whole, size);
  whole.close();
  return small;
}

/** Draws a picture into a canvas, which takes its size. */
export function drawPicture(canvas: HTMLCanvasElement, picture: ImageBitmap): void {
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext('2d')?.drawImage(picture, 0, 0);
}
