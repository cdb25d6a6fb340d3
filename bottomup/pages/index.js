const form = document.querySelector('.find'), words = form.querySelector('input');
const found = form.querySelector('output');
const figures = [...document.querySelectorAll('article')];
const texts = new Map(figures.map(
  figure => [figure, (figure.textContent + figure.querySelector('img').alt).toLowerCase()]));

function find() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const figure of figures)
    figure.hidden = !wanted.every(word => texts.get(figure).includes(word));
  const shown = figures.filter(figure => !figure.hidden).length;
  for (const category of document.querySelectorAll('.category'))
    category.hidden = !category.querySelector('article:not([hidden])');
  found.textContent = wanted.length ? `${shown} figure${shown === 1 ? '' : 's'}` : '';
}

// Show what a link leads to, even if the search hides it.
function arrive() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.checkVisibility()) {
    words.value = '';
    find();
    target?.scrollIntoView();
  }
}

form.hidden = false;
form.addEventListener('submit', event => event.preventDefault());
words.addEventListener('input', find);
addEventListener('hashchange', arrive);
if (location.hash) arrive();
