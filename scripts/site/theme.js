// Runs before the page is drawn, so that it never flashes in the other colours.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('tidemark-theme');
  } catch {
    // Storage may be forbidden; then the system decides.
  }
  document.documentElement.classList.add('js');
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
})();
