/** The page of the viewer. Its addresses are relative, because a proxy may serve it below a path. */
export const VIEWER_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>REST API · Tidemark</title>
<link rel="icon" href="./static/theme/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="./static/swagger-ui.css">
<link rel="stylesheet" href="./static/theme/viewer.css">
</head>
<body>
<header class="bar">
<a class="brand" href="../"><img src="./static/theme/icon.svg" alt="" width="24" height="24">Tidemark</a>
<nav aria-label="Elsewhere"><a href="../">Documentation</a><a href="../../console/">Console</a><a href="../../openapi.json">openapi.json</a></nav>
</header>
<main id="swagger-ui"></main>
<script src="./static/swagger-ui-bundle.js"></script>
<script src="./static/theme/viewer.js"></script>
</body>
</html>
`;

export const VIEWER_ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Tidemark</title><rect width="32" height="32" rx="7" fill="#0b5c84"/><path d="M5 13c3.7-4 7.3-4 11 0s7.3 4 11 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/><path d="M5 21c3.7-4 7.3-4 11 0s7.3 4 11 0" fill="none" stroke="#7fd0ef" stroke-width="3" stroke-linecap="round"/></svg>';

/** The choice of light or dark is the one that was made in the documentation; else the system decides. */
export const VIEWER_SCRIPT = `
const system = matchMedia('(prefers-color-scheme: dark)');
const paint = () => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('tidemark-theme');
  } catch {
    // Storage may be forbidden; then the system decides.
  }
  const isDark = chosen === 'dark' || (chosen !== 'light' && system.matches);
  document.documentElement.classList.toggle('dark-mode', isDark);
};
system.addEventListener('change', paint);
paint();
SwaggerUIBundle({
  url: './json',
  dom_id: '#swagger-ui',
  layout: 'BaseLayout',
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  filter: true,
  docExpansion: 'none',
  validatorUrl: null,
});
`;

export const VIEWER_STYLE = `
:root {
  color-scheme: light;
  --page: #ffffff;
  --text: #1b2730;
  --dim: #54616b;
  --line: #dde3e9;
  --link: #0b5f88;
}
:root.dark-mode {
  color-scheme: dark;
  --page: #0f161b;
  --text: #e3eaef;
  --dim: #a3b0ba;
  --line: #29343c;
  --link: #7cc8ea;
}
body,
.dark-mode body {
  margin: 0;
  background: var(--page);
  color: var(--text);
  font: 1rem / 1.65 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
.bar {
  position: sticky;
  top: 0;
  z-index: 10;
  display: flex;
  align-items: center;
  justify-content: space-between;
  flex-wrap: wrap;
  gap: 0 1rem;
  min-height: 3.5rem;
  padding: 0.25rem 1.25rem;
  background: var(--page);
  border-bottom: 1px solid var(--line);
}
.bar a {
  color: var(--link);
}
.bar .brand {
  display: flex;
  align-items: center;
  gap: 0.6rem;
  color: var(--text);
  font-weight: 600;
  text-decoration: none;
}
.bar nav {
  display: flex;
  gap: 1.25rem;
  font-size: 0.95rem;
}
.swagger-ui,
.swagger-ui .info .title,
.swagger-ui .opblock-tag,
.swagger-ui .opblock .opblock-summary-description {
  font-family: inherit;
}
.swagger-ui .wrapper {
  max-width: 75rem;
  padding: 0 1.25rem;
}
.swagger-ui .info {
  margin: 1.5rem 0;
}
.swagger-ui .info .title {
  font-size: 1.75rem;
}
.swagger-ui .info .title small.version-stamp {
  background: var(--link);
}
.swagger-ui .scheme-container,
.dark-mode .swagger-ui .scheme-container {
  background: none;
  box-shadow: none;
  border-block: 1px solid var(--line);
  padding: 1rem 0;
}
/* The one server and the address of the description are those of this page. */
.swagger-ui .schemes-server-container,
.swagger-ui .info .main > a {
  display: none;
}
.dark-mode .swagger-ui {
  background: var(--page);
}
.swagger-ui .filter .operation-filter-input {
  width: 100%;
  margin: 1rem 0 0;
  border: 1px solid var(--line);
  background: var(--page);
  color: var(--text);
}
@media (max-width: 40rem) {
  /* Tables of parameters scroll inside their operation. */
  .swagger-ui .opblock-body,
  .swagger-ui .opblock-tag-section {
    overflow-x: auto;
  }
  .swagger-ui .filter-container .filter {
    padding: 0;
    max-width: none;
    flex: 0 0 100%;
  }
  .bar nav {
    gap: 0.9rem;
    font-size: 0.85rem;
  }
  .swagger-ui .opblock .opblock-summary {
    flex-wrap: wrap;
  }
  .swagger-ui .opblock .opblock-summary-path {
    max-width: 100%;
  }
}
`;
