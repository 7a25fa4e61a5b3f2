import type { Curve, Row } from './row.ts';

/**
 * Charts as SVG, written without a library. A chart has its own background, so that it is readable on light and dark
 * pages, and follows the colour scheme of the reader.
 */
const STYLE = `<style>
.background { fill: #ffffff; }
text { font: 12px system-ui, sans-serif; fill: #57606a; }
.title { font-weight: 600; fill: #1f2328; }
.axis { stroke: #8c959f; fill: none; }
.grid { stroke: #8c959f; stroke-opacity: .25; fill: none; }
.line { stroke: #0969da; stroke-width: 2; fill: none; }
.limit { stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 4 4; fill: none; }
.dot { fill: #0969da; }
@media (prefers-color-scheme: dark) {
.background { fill: #0d1117; } text { fill: #9198a1; } .title { fill: #f0f6fc; } .line { stroke: #4493f8; } .dot { fill: #4493f8; }
}
</style>`;

const WIDTH = 640;
const HEIGHT = 320;
const MARGIN = { left: 64, right: 44, top: 44, bottom: 48 };

/** Rows with a curve, as a file name and its content. */
export function chartsOf(rows: readonly Row[]): readonly { readonly file: string; readonly svg: string }[] {
  return rows.flatMap(({ name, ratio, curve }) => {
    if (curve === undefined) return [];
    const title = `${capitalised(name.replace(/^growth of an? /, '').replace(/, exponent$/, ''))}: exponent ${ratio.toFixed(2)}`;
    return { file: chartFile(name), svg: growthChart(title, curve) };
  });
}

export function chartFile(name: string): string {
  return `bench-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`;
}

/** Both axes are logarithmic. The dashed line shows a cost that is proportional to the size. */
function growthChart(title: string, { unit, points }: Curve): string {
  const sizes = points.map(({ objects }) => objects);
  const values = points.map(({ value }) => value);
  const [first = 1] = values;
  const [smallest = 1] = sizes;
  const x = logScale(Math.min(...sizes), Math.max(...sizes), MARGIN.left, WIDTH - MARGIN.right);
  const top = 10 ** Math.ceil(Math.log10(Math.max(...values) * 1.01) + 1);
  const bottom = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const y = logScale(bottom, top, HEIGHT - MARGIN.bottom, MARGIN.top);
  const proportional = Math.min(Math.max(...sizes), (smallest * top) / first);
  const line = points.map(({ objects, value }) => `${round(x(objects))},${round(y(value))}`).join(' ');
  const limit = `${round(x(smallest))},${round(y(first))} ${round(x(proportional))},${round(y((first * proportional) / smallest))}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    STYLE,
    `<rect class="background" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    `<text class="title" x="${MARGIN.left}" y="20">${escaped(title)}</text>`,
    `<text x="${MARGIN.left}" y="36">${escaped(unit)}; dashed: proportional to the size</text>`,
    ...powersOfTen(bottom, top).map((value) => gridLine(y(value), value)),
    ...sizes.map(
      (size) => `<text x="${round(x(size))}" y="${HEIGHT - 26}" text-anchor="middle">${thousands(size)}</text>`,
    ),
    `<text x="${WIDTH / 2}" y="${HEIGHT - 8}" text-anchor="middle">objects in the document</text>`,
    `<polyline class="axis" points="${MARGIN.left},${MARGIN.top} ${MARGIN.left},${HEIGHT - MARGIN.bottom} ${WIDTH - MARGIN.right},${HEIGHT - MARGIN.bottom}"/>`,
    `<polyline class="limit" points="${limit}"/>`,
    `<polyline class="line" points="${line}"/>`,
    ...points.map(({ objects, value }) => dot(x(objects), y(value), value)),
    '</svg>\n',
  ].join('\n');
}

function gridLine(at: number, value: number): string {
  const label = `<text x="${MARGIN.left - 8}" y="${round(at + 4)}" text-anchor="end">${thousands(value)}</text>`;
  return `<path class="grid" d="M${MARGIN.left} ${round(at)}H${WIDTH - MARGIN.right}"/>${label}`;
}

function dot(x: number, y: number, value: number): string {
  const label = `<text x="${round(x)}" y="${round(y + 20)}" text-anchor="middle">${value.toFixed(0)}</text>`;
  return `<circle class="dot" cx="${round(x)}" cy="${round(y)}" r="4"/>${label}`;
}

function logScale(from: number, to: number, start: number, end: number): (value: number) => number {
  const span = Math.log(to) - Math.log(from) || 1;
  return (value) => start + ((Math.log(value) - Math.log(from)) / span) * (end - start);
}

function powersOfTen(from: number, to: number): readonly number[] {
  const count = Math.round(Math.log10(to / from)) + 1;
  return Array.from({ length: count }, (_, index) => from * 10 ** index);
}

function thousands(value: number): string {
  return value.toLocaleString('en');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');
}
