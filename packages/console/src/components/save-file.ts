/** Offers a text to the person as a file. */
export function saveFile(name: string, type: string, parts: readonly string[]): void {
  saveBlob(name, new Blob([...parts], { type }));
}

/** Offers bytes to the person as a file, when all of them have arrived. The browser keeps large ones on its disk. */
export async function saveBytes(name: string, type: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const parts: Blob[] = [];
  for await (const chunk of bytes) parts.push(new Blob([chunk as Uint8Array<ArrayBuffer>]));
  saveBlob(name, new Blob(parts, { type }));
}

/** Offers a blob to the person as a file. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replaceAll(/[^\w.-]+/g, '_');
  link.click();
  URL.revokeObjectURL(url);
}
