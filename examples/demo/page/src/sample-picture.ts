const WIDTH_PX = 960;
const HEIGHT_PX = 720;
const HORIZON_PX = 430;
const WAVES = 7;

/** Draws a picture of the sea at some time of the day, for whoever has no camera. Hardly two are the same. */
export async function samplePicture(title: string): Promise<Blob> {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [WIDTH_PX, HEIGHT_PX];
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('this browser cannot draw a picture');
  const hour = Math.random();
  drawSky(context, hour);
  drawWaves(context, hour);
  drawCaption(context, title);
  const picture = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.85));
  if (picture === null) throw new Error('this browser cannot make a picture');
  return picture;
}

function drawSky(context: CanvasRenderingContext2D, hour: number): void {
  const sky = context.createLinearGradient(0, 0, 0, HORIZON_PX);
  sky.addColorStop(0, `hsl(${270 - 80 * hour} 60% ${30 + 35 * hour}%)`);
  sky.addColorStop(1, `hsl(${345 + 70 * hour} 85% 74%)`);
  context.fillStyle = sky;
  context.fillRect(0, 0, WIDTH_PX, HEIGHT_PX);
  context.fillStyle = 'hsl(45 100% 92%)';
  context.beginPath();
  context.arc(WIDTH_PX * (0.2 + 0.6 * hour), HORIZON_PX - 60 - 140 * hour, 58, 0, 2 * Math.PI);
  context.fill();
}

function drawWaves(context: CanvasRenderingContext2D, hour: number): void {
  for (let wave = 0; wave < WAVES; wave++) {
    const top = HORIZON_PX + (wave * (HEIGHT_PX - HORIZON_PX)) / WAVES;
    const [length, phase] = [40 + 22 * wave, 6 * hour + 2 * wave];
    context.fillStyle = `hsl(${196 + 2 * wave} 62% ${52 - 5 * wave}%)`;
    context.beginPath();
    context.moveTo(0, HEIGHT_PX);
    for (let x = 0; x <= WIDTH_PX; x += 8) context.lineTo(x, top + (4 + 2 * wave) * Math.sin(x / length + phase));
    context.lineTo(WIDTH_PX, HEIGHT_PX);
    context.fill();
  }
}

function drawCaption(context: CanvasRenderingContext2D, title: string): void {
  context.fillStyle = 'white';
  context.font = '600 40px system-ui, sans-serif';
  context.fillText(title, 40, HEIGHT_PX - 44, WIDTH_PX - 80);
}
