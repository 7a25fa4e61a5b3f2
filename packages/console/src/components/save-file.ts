/** Offers a text to the person as a file. */
export function saveFile(name: string, type: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replaceAll(/[^\w.-]+/g, '_');
  link.click();
  URL.revokeObjectURL(url);
}
