/** Colours have a contrast of at least 4.5 to 1 in both schemes. */
const CSS = `
:host {
  all: initial;
  --paper: #ffffff; --ink: #1b2430; --soft: #55606e; --line: #d5dbe3; --raised: #f2f5f8;
  --accent: #0b5cad; --on-accent: #ffffff; --good: #1a6b3c; --bad: #a3231f;
  position: fixed; z-index: 2147483000; color-scheme: light dark;
  font: 13px/1.45 system-ui, sans-serif; color: var(--ink);
}
:host(.bottom-right) { right: 12px; bottom: 12px; }
:host(.bottom-left) { left: 12px; bottom: 12px; }
:host(.top-right) { right: 12px; top: 12px; }
:host(.top-left) { left: 12px; top: 12px; }
@media (prefers-color-scheme: dark) {
  :host {
    --paper: #171c23; --ink: #e8edf3; --soft: #a9b5c3; --line: #39434f; --raised: #222a34;
    --accent: #8cc2ff; --on-accent: #0d1a28; --good: #7bd6a0; --bad: #ff9d97;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button {
  font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--line); border-radius: 6px;
  padding: 4px 10px; min-height: 28px; cursor: pointer;
}
button:hover { border-color: var(--accent); }
button:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
button.danger { color: var(--bad); }
.toggle { background: var(--accent); color: var(--on-accent); border-color: var(--accent); border-radius: 99px; font-weight: 600; }
.panel {
  width: min(640px, calc(100vw - 24px)); max-height: min(70vh, 640px); display: flex; flex-direction: column;
  background: var(--paper); border: 1px solid var(--line); border-radius: 10px; box-shadow: 0 8px 30px rgb(0 0 0 / 25%);
}
header { display: flex; align-items: center; justify-content: space-between; padding: 8px 12px; border-bottom: 1px solid var(--line); }
h2 { font-size: 14px; margin: 0; }
h3 { font-size: 12px; margin: 14px 0 4px; color: var(--soft); text-transform: uppercase; letter-spacing: 0.04em; }
.actions { display: flex; flex-wrap: wrap; gap: 6px; padding: 8px 12px; border-bottom: 1px solid var(--line); }
.message { margin: 0; padding: 0 12px; color: var(--soft); }
.message:not(:empty) { padding-block: 6px; }
.body { overflow: auto; padding: 0 12px 12px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 10px 0 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
dd.good { color: var(--good); }
dd.bad { color: var(--bad); }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: start; padding: 3px 8px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; }
th { white-space: nowrap; color: var(--soft); font-weight: 500; }
.buttons { white-space: nowrap; }
td button { margin-inline-end: 6px; padding: 1px 8px; min-height: 24px; }
.empty { margin: 0; color: var(--soft); }
`;

/** A sheet that is made by a script is allowed where inline styles are not. */
export function devtoolsStyles(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(CSS);
  return sheet;
}
