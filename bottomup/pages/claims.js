const evidence = document.querySelector('.evidence');

evidence.tHead.addEventListener('click', event => {
  const head = event.target.closest('th[data-key]');
  if (!head) return;
  const rows = evidence.tBodies[0], ascending = head.getAttribute('aria-sort') !== 'ascending';
  const order = (a, b) => a.dataset[head.dataset.key] - b.dataset[head.dataset.key];
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
  rows.append(...[...rows.rows].sort((a, b) =>
    (ascending ? order(a, b) : order(b, a)) || a.dataset.place - b.dataset.place));
});

// Show the claim that a link leads to, opened, even if the chosen verdict hides it.
function arrive() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && !target.checkVisibility()) {
    document.querySelector('.claims input[value=all]').click();
    target.scrollIntoView();
  }
  target?.querySelector('details')?.setAttribute('open', '');
}

addEventListener('hashchange', arrive);
if (location.hash) arrive();
