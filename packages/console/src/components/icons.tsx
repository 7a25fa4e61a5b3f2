/** Paths of icons on a grid of 24. */
const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM14 7h6V4h-6zM4 20h6v-3H4z',
  sources:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  users:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21a7 7 0 0 1 14 0M16 3.500a4 4 0 0 1 0 7.500M18.5 14.500A7 7 0 0 1 22 21',
  groups: 'M8 3h8v5H8zM3 16h7v5H3zM14 16h7v5h-7zM12 8v4M6.5 16v-4h11v4',
  devices: 'M3 5h13v10H3zM8 19h5M10.5 15v4M18 9h4v11h-4zM20 17.5h.01',
  jobs: 'M4 6h16M4 12h16M4 18h10',
  menu: 'M4 6h16M4 12h16M4 18h16',
  system:
    'M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 2v4M12 18v4M2 12h4M18 12h4M5 5l2.8 2.800M16.2 16.2 19 19M19 5l-2.8 2.800M7.8 16.2 5 19',
  tokens: 'M14.5 14a5 5 0 1 0-4.7-3.300L3 17.5V21h3.500v-2.500H9V16h2.500l1.2-1.3c.6.2 1.2.3 1.8.3zM16 8.5h.01',
  pings: 'M6 16V10a6 6 0 0 1 12 0v6l2 2H4zM10 21h4',
  data: 'M4 5h16v14H4zM4 10h16M4 15h16M10 5v14',
  files: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.500h.01',
  connectors:
    'M4 7c0-1.500 2.200-2.500 5-2.500s5 1 5 2.500-2.200 2.500-5 2.500-5-1-5-2.500zM4 7v8c0 1.500 2.200 2.500 5 2.500M14 7v2M12 15h8M17 12l3 3-3 3',
  backend: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01',
  stats: 'M5 20v-8M12 20V4M19 20v-5',
  api: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13 5l-2 14',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  audit: 'M6 3h9l4 4v14H6zM9 12h7M9 16h7M9 8h3',
  light:
    'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.400M17.6 17.6 19 19M19 5l-1.4 1.400M6.4 17.6 5 19',
  dark: 'M20 14.500A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.500z',
  out: 'M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      width="18"
      height="18"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
