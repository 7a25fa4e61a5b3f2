/**
 * The groups of the sidebar, in order, by the four kinds of documentation (https://diataxis.fr). A page is a path below
 * `docs` and its title there. `generated` pages have no file; `site.mjs` makes them.
 */
export const SIDEBAR = [
  {
    title: 'Start',
    pages: [
      ['README.md', 'Overview'],
      ['tutorial.md', 'Tutorial: ten minutes'],
    ],
  },
  {
    title: 'Guides: apps',
    pages: [
      ['sdk/guide.md', 'Device SDK'],
      ['sdk/queries.md', 'Queries'],
      ['sdk/react.md', 'React'],
      ['sdk/web-app.md', 'Offline web app'],
      ['guides/data-modelling.md', 'Data modelling'],
      ['groups.md', 'Sharing with groups'],
      ['guides/conflicts.md', 'Conflicts'],
      ['sign-in.md', 'Sign-in and identity providers'],
      ['guides/push-notifications.md', 'Push messages: iOS, Android, web'],
      ['sdk/web-push.md', 'Web push'],
      ['sdk/testing.md', 'Testing an app'],
    ],
  },
  {
    title: 'Guides: backends',
    pages: [
      ['backend-sdk.md', 'Backend in TypeScript'],
      ['backend-python.md', 'Backend in Python'],
      ['backend-ruby.md', 'Backend in Ruby'],
      ['source-modules.md', 'Source modules'],
      ['guides/import.md', 'Importing data'],
    ],
  },
  {
    title: 'Guides: operating',
    pages: [
      ['operating/production.md', 'Production checklist'],
      ['operating/backup.md', 'Backup and restore'],
      ['operating/monitoring.md', 'Monitoring and freshness'],
      ['operating/valkey.md', 'Valkey or Redis'],
      ['operating/moving.md', 'From one machine to Valkey'],
      ['operating/pings.md', 'Pings and push services'],
      ['operating/receipts.md', 'Delivery receipts'],
      ['operating/explain.md', 'Why is it not there?'],
      ['operating/lost-devices.md', 'Lost devices'],
      ['operating/rate-limits.md', 'Rate limits'],
      ['operating/sizing.md', 'Sizing'],
      ['guides/upgrading.md', 'Upgrading'],
      ['guides/troubleshooting.md', 'Troubleshooting'],
    ],
  },
  {
    title: 'Reference',
    pages: [
      ['cli.md', 'Command line'],
      ['operating/configuration.md', 'Settings'],
      ['errors.md', 'Errors'],
      ['limits.md', 'Limits'],
      ['sync-protocol.md', 'Device protocol'],
      ['backend.md', 'Backend contract'],
      ['rules.md', 'Rules'],
    ],
  },
  {
    title: 'Explanation',
    pages: [
      ['explanation/how-sync-works.md', 'How sync works'],
      ['explanation/guarantees.md', 'Guarantees'],
      ['proof.md', 'Run the proof yourself'],
      ['explanation/comparison.md', 'How Tidemark compares'],
      ['explanation/coming-from-another-server.md', 'Coming from another server'],
      ['architecture.md', 'Architecture'],
      ['sdk/how-it-works.md', 'How the device SDK works'],
      ['decisions/README.md', 'Design decisions'],
    ],
  },
];

/** The links at the end of the reference that lead out of the site, to what a running server generates. */
export const SERVER_LINKS = [['api/', 'REST API viewer']];
