const QUALITY = 0.85;

/** Compresses a PNG. The browser does it, so that no other program is needed. */
export async function toWebp(browser, png) {
  const page = await browser.newPage();
  const webp = await page.evaluate(
    async ([base64, quality]) => {
      const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext('2d').drawImage(bitmap, 0, 0);
      const blob = await canvas.convertToBlob({ type: 'image/webp', quality });
      return [...new Uint8Array(await blob.arrayBuffer())];
    },
    [png.toString('base64'), QUALITY],
  );
  await page.close();
  return Buffer.from(webp);
}
